// The timeline under every Explorer: the instruction from its operands to D. It can be played, dragged and stepped;
// its position is a trait, which links and saved pages keep.

import { attribute, consume, make, makeButton, makeSection, reducedMotion, write } from "../common/dom.js";
import { clamp } from "../common/numbers.js";
import { PlaybackBar } from "../common/playback.js";
import { flyTiles } from "../common/flights.js";
import { differing, cellOfIndex } from "../matrix/matrix.js";
import { PartialSums, blank, playedRegisters } from "../story/partial_sums.js";
import { StoryCanvas } from "../story/story_canvas.js";
import { canRecord, recordTimeline } from "./record_video.js";
import { timelineParts } from "./timeline_frames.js";

const EASING = 280; // milliseconds from one state to the next
const TILE_FLIGHT = 620;
const DIVE = 1300; // to a step of the close-up
const NEXT_PRODUCT = 420; // of a step that is not played
const MAX_TILES = 600;
const MAX_WAYS = 4; // marks of a matrix that move

export class Timeline extends PlaybackBar {
  /** @param {App} app @param {HTMLElement} parent */
  constructor(app, parent) {
    const node = makeSection(parent, "", "the instruction, step by step", "timeline");
    super(node, { label: "timeline", name: "play the instruction", first: 1 });
    this.app = app;
    this.content = app.content;
    this.pointing = app.pointing;
    this.scene = app.scene;
    this.parts = /** @type {(TimelinePart & PlayerPart)[]} */ ([]);
    this.frames = /** @type {Frame[]} */ ([]);
    // what the frames were made of
    this.made = /** @type {unknown[]} */ ([]);
    // the instruction, and the cell that is followed
    this.key = this.cell = "";
    // nothing is marked
    this.idle = true;
    // whether matrices that are not in the memory view are shown
    this.movedOn = false;
    // of the way from the marks before to those that are shown
    this.progress = 1;
    this.before = /** @type {Mark[]} */ ([]);
    this.shown = /** @type {Mark[]} */ ([]);
    // the frame in which marks move on
    this.motion = 0;
    this.flight = /** @type {HTMLElement | null} */ (null);
    this.slider.addEventListener("change", () => this.remember());
    this.operation = make("span", "ptx-timeline-operation", this.words);
    this.story = new StoryCanvas(app);
    this.partialSums = /** @type {PartialSums | null} */ (null);
    // the matrices that they are made of
    this.summedFrom = /** @type {unknown[]} */ ([]);
    // what the shown D was made of
    this.shownD = /** @type {unknown[]} */ ([]);
    // the step that was shown before
    this.cameFrom = Number.NaN;
    this.leave = makeButton(node, "ptx-tool ptx-leave", "×", () => this.goHome(), {
      title: "Show everything again (Escape)",
      "aria-label": "leave the timeline",
    });
    app.root.addEventListener("keydown", (event) => this.escape(event), true);
    const films = make("span", "ptx-films", node);
    const film = makeButton(films, "ptx-tool ptx-film", "video", () => recordTimeline(this, film), {
      title: "Play it once and save it as a video (WebM), for slides",
      "aria-label": "save the timeline as a video",
    });
    film.hidden = !canRecord();
  }

  get last() {
    return this.frames.length;
  }

  get width() {
    return this.app.layoutWidth;
  }

  /** @returns {Frame | null} what is shown; null while nothing is */
  get current() {
    return this.idle ? null : (this.frames[this.at - 1] ?? null);
  }

  // Whether it shows something else than the access to memory.
  get movesOn() {
    return this.current !== null && this.current.memory === undefined;
  }

  // Where it stands before it plays: at the access that is shown, or at the sum of the selected cell.
  get home() {
    let at = 0;
    for (const { frames, isSum } of this.parts) {
      if (isSum || frames[0].memory !== undefined) return at;
      at += frames.length;
    }
    return 0;
  }

  // The sum that is followed: of the selected cell of D; while it plays, also if another cell is edited.
  /** @returns {Trace | null} */
  get sum() {
    const { selection } = this.app;
    const trace = this.content.model.get("trace");
    if (!trace?.dot_product) return null;
    const isFollowed = !selection.mark || selection.mark.name === "D" || !this.idle;
    return isFollowed ? /** @type {Trace} */ (trace) : null;
  }

  // Frames are made anew when something else is sent; where the timeline stands stays, as long as it is about
  // the same.
  updateFrames() {
    const { app, content } = this;
    const { instruction, matrices } = content;
    if (!matrices.A) return;
    const { sum } = this;
    const made = [
      instruction,
      sum,
      app.memory.sent,
      app.memory.isOpen,
      content.isUnfolded("C"),
      (matrices.D.whole ?? matrices.D).unknown,
    ];
    const isSame = made.every((source, index) => source === this.made[index]);
    if (isSame) {
      this.showD(this.current?.summed); // of other numbers
      this.write();
      return;
    }
    this.made = made;
    this.parts = timelineParts(content, app.memory, sum).map((part) => ({
      ...part,
      about: `${part.about}: go to where that begins`,
      steps: part.frames.length,
    }));
    this.frames = this.parts.flatMap(({ frames }) => frames);
    this.node.hidden = !this.frames.length;
    const cell = sum ? `${sum.row} ${sum.column}` : "";
    const key = `${instruction.mnemonic} ${instruction.shape ?? ""} ${app.memory.sent.name ?? ""}`;
    const isFirst = !this.key;
    this.drawNames();
    // another cell is followed from where the timeline stands
    if (key !== this.key || (this.idle && cell !== this.cell)) this.reset();
    [this.key, this.cell] = [key, cell];
    this.limit();
    if (isFirst) this.goToModelStep();
    this.moveMarks();
    this.showD(this.current?.summed);
    if (this.current?.closeUp !== undefined) this.showStory(false);
    this.write();
    this.remember();
  }

  /** @returns {PartialSums} of what the matrices are now */
  get sums() {
    const { instruction, matrices } = this.content;
    const whole = matrices.D.whole ?? matrices.D;
    const { A, B, C, SFA, SFB } = /** @type {AnyMatrices} */ (matrices);
    const from = [instruction, A, B, C, SFA, SFB, whole];
    if (!this.partialSums || from.some((source, index) => source !== this.summedFrom[index]))
      this.partialSums = new PartialSums(instruction, /** @type {AnyMatrices} */ ({ ...matrices, D: whole }));
    this.summedFrom = from;
    return this.partialSums;
  }

  // D as it is after so many k, here and in its registers; -1: before the sum begins; undefined: in the end.
  /** @param {number | undefined} summed */
  showD(summed) {
    const { app, content } = this;
    const { matrices, instruction } = content;
    const before = matrices.D;
    if (!before || instruction.transfer) return;
    const whole = before.whole ?? before;
    const isWhole = summed === undefined || Boolean(whole.unknown);
    const sums = isWhole || summed < 0 ? null : this.sums;
    const made = [whole, sums, isWhole ? undefined : summed];
    if (made.every((source, index) => source === this.shownD[index])) return;
    this.shownD = made;
    if (isWhole) matrices.D = whole;
    else matrices.D = sums?.after(summed) ?? blank(whole);
    if (matrices.D === before) return;
    app.scene.paneOf("D")?.draw();
    app.tensor.draw();
    app.panel.drawRegisters();
    if (!before.whole !== !matrices.D.whole) app.tracePanel.update();
  }

  // The registers of lanes as they are at this step.
  /** @param {Traits["lane_registers"]} byLane */
  registers(byLane) {
    return playedRegisters(byLane, this.content.matrices.D);
  }

  // What is between the matrices: products on their way into D, and the bits of an element.
  /** @param {boolean} isNext */
  showStory(isNext) {
    const { current, story, sum } = this;
    const { path, closeUp, summed } = current ?? {};
    const bits = sum?.dot_product?.bits;
    if (closeUp !== undefined && sum && bits) {
      story.diveTo({ ...sum, bits }, closeUp, isNext ? DIVE : undefined);
      this.showD(summed);
    } else if (path && isNext && !reducedMotion.matches) {
      this.showD(path.first);
      const sink = () => {
        if (this.current?.path !== path) return;
        this.showD(summed);
        this.app.status.update();
      };
      story.multiply(path, this.timer ? 0.9 * this.wait : NEXT_PRODUCT, sink);
    } else {
      story.clear();
      this.showD(summed);
    }
  }

  // To where a link, a saved page or Python says.
  goToModelStep() {
    const step = this.content.model.get("step") ?? 0;
    if (this.timer || step === (this.idle ? 0 : this.at) || step > this.last) return;
    if (step) this.goToStep(step);
    else this.goHome();
  }

  goHome() {
    this.reset();
    this.updateFrames(); // what is selected may be another cell by now
    this.showStep(false);
    this.remember();
  }

  // Wherever the focus is, but in text that is being typed.
  /** @param {KeyboardEvent} event */
  escape(event) {
    const { app, scene } = this;
    if (event.key !== "Escape" || this.idle || app.picker.opened) return;
    if (scene.panes.some((pane) => pane.editing)) return;
    consume(event);
    this.goHome();
  }

  reset() {
    super.reset();
    this.at = this.home;
    this.cameFrom = Number.NaN;
    this.idle = true;
    this.moveMarks();
    this.showStory(false);
  }

  // Where nothing is selected, it is played from its beginning, and ends with an element: one in which chips differ, or
  // the largest.
  play() {
    const { app, content } = this;
    const { D } = content.matrices;
    const isFree = this.idle && !app.selection.mark && !content.instruction.transfer && !app.memory.isOpen;
    if (isFree && D && !D.unknown && !content.model.get("trace")?.dot_product) {
      const sizes = Array.from(D.values, (value) => (Number.isFinite(value) ? Math.abs(value) : -1));
      const largest = sizes.indexOf(Math.max(...sizes));
      app.selection.select(cellOfIndex(D, D.differ ? (differing(D)[0] ?? largest) : largest), false);
    }
    if (isFree) this.at = 0;
    super.play();
  }

  /** @param {number} step */
  jump(step) {
    super.jump(step);
    this.remember();
  }

  pause() {
    super.pause();
    this.flight?.remove();
    this.flight = null;
    this.remember();
  }

  // Python, links and saved pages know where it stands, not every frame on the way there.
  remember() {
    const step = this.idle ? 0 : this.at;
    if (this.frames?.length && !this.timer && this.content.model.get("step") !== step)
      this.content.set("step", step);
  }

  /** @param {number} step @param {boolean} played */
  goToStep(step, played = false) {
    this.idle = step <= 0;
    super.goToStep(step, played);
  }

  /** @param {boolean} played */
  showStep(played) {
    const { app, pointing, scene } = this;
    if (app.memory.isOpen && this.movesOn !== this.movedOn) app.layout(); // other matrices are seen
    this.movedOn = this.movesOn;
    const isNext = played || this.at === this.cameFrom + 1;
    this.cameFrom = this.at;
    this.moveMarks();
    this.showStory(isNext);
    this.write();
    if (this.current?.memory === undefined) scene.reveal(this.shown);
    else app.memory.access.reveal();
    const { register } = this.current ?? {};
    if (register) app.panel.bringIntoView(register.name, register.register);
    app.panel.highlight(pointing.hovered);
    app.status.update();
    if (played) this.fly();
  }

  // Marks move from where they were to where they are now.
  moveMarks() {
    const { pointing } = this;
    const marks = this.current?.marks() ?? [];
    if (JSON.stringify(marks) === JSON.stringify(this.shown)) return;
    this.before = this.shown;
    this.shown = marks;
    cancelAnimationFrame(this.motion);
    this.progress = reducedMotion.matches || !this.before.length || !marks.length ? 1 : 0;
    pointing.drawMarksSoon();
    if (this.progress === 1) return;
    const start = performance.now();
    const drawFrame = (/** @type {number} */ now) => {
      this.progress = clamp((now - start) / EASING, 0, 1);
      pointing.drawMarks();
      if (this.progress < 1) this.motion = requestAnimationFrame(drawFrame);
    };
    this.motion = requestAnimationFrame(drawFrame);
  }

  // From the marks before: where this one comes from, and how far it has come.
  /** @param {Mark[]} marks of one matrix @param {number} index @returns {{ mark: Mark | null, part: number }} */
  earlier(marks, index) {
    const { name } = marks[index];
    const [then, now] = [this.before, this.shown].map((markSet) =>
      markSet.filter((mark) => mark.name === name),
    );
    const part = 1 - (1 - this.progress) ** 3;
    // many marks, or others in number, have no way that one could follow
    const isWay = this.progress < 1 && then.length === now.length && now.length <= MAX_WAYS;
    return { mark: isWay ? then[now.indexOf(marks[index])] : null, part };
  }

  // What is sent to lanes, or meets in D, or is moved.
  fly() {
    this.flight?.remove();
    this.flight = null;
    if (reducedMotion.matches || !this.current) return;
    const { app } = this;
    const tiles =
      this.current.memory === undefined
        ? app.flights.tilesOf((this.current.flights?.() ?? []).slice(0, MAX_TILES))
        : app.memory.access.flights();
    const duration = Math.min(TILE_FLIGHT, 0.9 * this.wait);
    if (tiles.length) this.flight = flyTiles(app.root, tiles, duration);
  }

  // The lanes that take part in the current step; null if it is not about lanes.
  lanes() {
    const { current } = this;
    if (!current) return null;
    if (current.memory !== undefined) return this.app.memory.access.lanes();
    return current.lanes ? [...new Set(current.lanes)].sort((one, other) => one - other) : null;
  }

  // Whether a cell is part of the current step.
  /** @param {Cell} cell */
  has({ name, row, column }) {
    return this.shown.some(
      (mark) =>
        mark.name === name &&
        row >= mark.row &&
        row <= (mark.row2 ?? mark.row) &&
        column >= mark.column &&
        column <= (mark.column2 ?? mark.column),
    );
  }

  get wait() {
    return this.current?.hold ?? 0;
  }

  // -- words --

  write() {
    const { app, current, content } = this;
    const overview = app.memory.isOpen
      ? "play or drag to follow the access wavefront by wavefront"
      : (this.sum?.dot_product?.summary ??
        `play or drag: ${content.instruction.transfer ? "its words on their way" : "from the operands to D"}`);
    const text = current?.text() ?? overview;
    write(this.text, text);
    attribute(this.text, "title", text);
    attribute(this.text, "aria-live", this.timer ? "off" : "polite");
    write(this.operation, current?.operation ?? "");
    attribute(this.node, "data-at", this.idle ? 0 : this.at);
    this.leave.style.visibility = this.idle ? "hidden" : "";
    attribute(this.node, "data-from", this.home);
    this.updateBar(text);
    app.tracePanel.light(current?.step?.name ?? "");
  }
}
