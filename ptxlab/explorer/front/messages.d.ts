// Messages from the page to Python. Written from ptxlab/explorer/session.py (MESSAGES) by
// python -m tools.explorer_messages; do not edit.

type Message =
  | { type: "set_cell"; name: Name; row: number; column: number; text: string }
  | {
      type: "paste";
      name: Name;
      row: number;
      column: number;
      text: string;
      row2?: number | null;
      column2?: number | null;
    }
  | { type: "clear_cells"; name: Name; row: number; column: number; row2: number; column2: number }
  | {
      type: "extend_cells";
      name: Name;
      row: number;
      column: number;
      row2: number;
      column2: number;
      to_row: number;
      to_column: number;
      series: boolean;
    }
  | { type: "fill_matrix"; name: Name; pattern: string; row: number; column: number }
  | { type: "prune_chunks" }
  | { type: "dismiss_refusal" }
  | { type: "set_register"; name: Name; lane: number; register: number; text: string }
  | { type: "flip_bit"; name: Name; lane: number; register: number; bit: number }
  | { type: "set_word"; address: number; size: number; text: string }
  | { type: "set_option"; name: string; value: number | boolean }
  | { type: "set_mask"; name: string; text: string }
  | { type: "set_chips"; chip: string; against: string | null }
  | { type: "choose_instruction"; mnemonic: string; a_space: "register" | "shared" | "tensor" | "as named" }
  | { type: "set_descriptor"; text: string }
  | { type: "set_descriptor_field"; name: string; text: string }
  | { type: "set_transfer"; name: string; text: string }
  | { type: "undo" }
  | { type: "redo" }
  | { type: "request_picker_index" }
  | { type: "run_on_gpu" }
  | { type: "find_difference" }
  | { type: "export"; format: "code" | "link" | "page" }
  | { type: "resend_matrices" }
  | {
      type: "show_memory";
      name: Name;
      by?: string | null;
      major?: string | null;
      pitch?: number | null;
      swizzle?: number | null;
      descriptor?: string | null;
      layout?: string | null;
    }
  | { type: "set_memory_field"; name: string; text: string }
  | { type: "hide_memory" }
  | {
      type: "show_load";
      shape: string;
      count?: number | null;
      lane?: number | null;
      column?: number | null;
      pack?: boolean | null;
    }
  | { type: "start_quiz" }
  | { type: "answer_question"; text: string }
  | { type: "skip_question" }
  | { type: "next_question" }
  | { type: "stop_quiz" };
