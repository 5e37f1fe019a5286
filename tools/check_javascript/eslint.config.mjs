import js from "@eslint/js";
import globals from "globals";

export default [
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: 2022, sourceType: "module", globals: globals.browser },
    rules: {
      eqeqeq: "error", "no-var": "error", "prefer-const": "error", "no-implied-eval": "error", "no-new-func": "error", "no-shadow": "off",
      "no-restricted-properties": ["error", { property: "innerHTML", message: "text only: textContent" }, { property: "outerHTML" }],
    },
  },
];
