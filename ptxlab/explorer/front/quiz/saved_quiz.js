// The quiz of a static page: saved questions with their answers, asked and checked without Python.

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/;

// An answer without punctuation and filling words: "lane 4 register 3", "a 9 37".
/** @param {string} text */
function spoken(text) {
  const words = text
    .toLowerCase()
    .replace(/\b(stored|metadata)\b/g, (word) => (word === "stored" ? "compressed a" : "e"))
    .replace(/lane (\d+) of warp (\d+)( \(thread \d+\))?/, "warp $2 lane $1")
    .replace("thread", "lane")
    .replace(/warp\s*(\d+)\W*lane\s*(\d+)/, (_, warp, lane) => `lane ${32 * Number(warp) + Number(lane)}`);
  const parts = words.match(/[a-z]+|\d+/g) ?? [];
  return parts.filter((word) => !["row", "column", "col", "chunk", "of"].includes(word)).join(" ");
}

// Bits in binary or hexadecimal, with or without their prefix.
/** @param {string} text @param {number} bits */
function readBits(text, bits) {
  const word = text.toLowerCase().replace(/[\s_]/g, "");
  if (/^0(x[0-9a-f]+|b[01]+)$/.test(word)) return BigInt(word);
  if (word.length === bits && /^[01]+$/.test(word)) return BigInt(`0b${word}`);
  return /^[0-9a-f]+$/.test(word) ? BigInt(`0x${word}`) : null;
}

export class StaticQuiz {
  /** @param {SavedQuestion[]} questions */
  constructor(questions) {
    this.questions = questions;
    this.index = this.right = this.answered = 0;
    this.problem = "";
    this.verdict = /** @type {Sent<QuizVerdict>} */ ({});
  }

  restart() {
    this.index = this.right = this.answered = 0;
    this.problem = "";
    this.verdict = {};
  }

  // What the bar shows after a message; null if the message is not about the quiz.
  /** @param {Message} message @returns {Sent<QuizData> | null} */
  answerMessage(message) {
    if (message.type === "stop_quiz") return {};
    if (message.type === "start_quiz") this.restart();
    else if (message.type === "next_question") this.next();
    else if (message.type === "skip_question") this.judge(null, "Skipped.");
    else if (message.type === "answer_question") this.check(message.text);
    else return null;
    return {
      number: this.index + 1,
      count: this.questions.length,
      right: this.right,
      answered: this.answered,
      problem: this.problem,
      question: this.questions[this.index]?.question ?? {},
      verdict: this.verdict,
    };
  }

  next() {
    this.index += 1;
    this.problem = "";
    this.verdict = {};
  }

  /** @param {boolean | null} right @param {string} start */
  judge(right, start) {
    const saved = this.questions[this.index];
    if (!saved) return;
    if (right !== null) this.answered += 1;
    if (right) this.right += 1;
    this.problem = "";
    this.verdict = {
      right: right === true,
      sentence: `${start} ${saved.explanation}`,
      cells: saved.cells,
      chosen: [],
      skipped: right === null,
    };
  }

  /** @param {string} text */
  check(text) {
    const saved = this.questions[this.index];
    if (!saved) return;
    const right = this.isRight(text.trim(), saved);
    if (right === null) this.problem = saved.question.hint;
    else this.judge(right, right ? "Right." : "No.");
  }

  // null for a text that cannot answer this question.
  /** @param {string} text @param {SavedQuestion} saved */
  isRight(text, { question, answers }) {
    if (question.takes === "text") {
      const binary = answers.find((answer) => answer.startsWith("0b"));
      if (!binary) return NUMBER.test(text) ? Number(text) === Number(answers[0]) : null;
      const bits = binary.length - 2;
      const code = readBits(text, bits);
      return code === null || code >> BigInt(bits) ? null : code === BigInt(binary);
    }
    if (question.takes === "numbers") {
      const numbers = (/** @type {string} */ words) => words.match(/\d+/g)?.map(Number).join() ?? "";
      return numbers(text) ? answers.some((rightAnswer) => numbers(rightAnswer) === numbers(text)) : null;
    }
    if (question.takes === "words")
      return spoken(text) ? answers.some((rightAnswer) => spoken(rightAnswer) === spoken(text)) : null;
    let answer = spoken(text);
    if (question.takes === "register") {
      const operand = / (\w+) register/.exec(answer)?.[1];
      const [{ name }] = question.marked;
      if (
        operand &&
        Number.isNaN(Number(operand)) &&
        operand !== (name === "stored" ? "a" : name.toLowerCase())
      )
        return null;
      answer = answer.replace(/ [a-z]+ register/, " register");
      return /^lane \d+ [a-z]+ \d+$/.test(answer)
        ? answers.some((rightAnswer) => spoken(rightAnswer) === answer)
        : null;
    }
    if (/^\d+ \d+$/.test(answer))
      return answers.some((rightAnswer) => spoken(rightAnswer).endsWith(` ${answer}`));
    return /^[a-z ]+\d+ \d+$/.test(answer)
      ? answers.some((rightAnswer) => spoken(rightAnswer) === answer)
      : null;
  }
}
