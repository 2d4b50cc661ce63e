// The page itself: what the user does, and what is shown then.
import { openPage } from './contents.js';
import { Drawing, fieldColour } from './drawing.js';
import { Session } from './session.js';
import { View } from './view.js';

/** Milliseconds that the field may take at a time, so that drags go on. */
const SLICE = 6;
/** Pairs from which on the graph is not painted anew in every frame. */
const MANY = 6000;
const ARROWS = {
  ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1],
};

const find = (id) => document.getElementById(id);

/** A number with three digits that count. */
export function shown(value) {
  if (!(Math.abs(value) < Infinity)) return '–';
  const digits = value === 0 ? 0 : 2 - Math.floor(Math.log10(Math.abs(value)));
  return value.toFixed(Math.min(Math.max(digits, 0), 6));
}

/** Binds a session to the elements of the page. */
export class Controls {
  constructor(page, session) {
    this.page = page;
    this.session = session;
    this.view = new View(page);
    this.drawing = new Drawing(page, this.view, find('base'), find('above'));
    this.drawing.closed = session.closed;
    this.step = -1; // -1: the whole route
    this.times = {}; // how long things took last, in milliseconds
    this.texts();
    this.markers();
    this.stage();
    this.panel();
    this.keys();
    new ResizeObserver(() => this.resize()).observe(find('stage'));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      this.drawing.readColours();
      this.legend();
      this.repaint();
      this.change();
    });
    this.resize();
    this.change();
    this.startField();
  }

  texts() {
    const { about, graph, names } = this.page;
    const { session } = this;
    if (about.title) document.title = about.title;
    find('title').textContent = about.title;
    find('unit').textContent = about.unit ? ` / ${about.unit}` : '';
    find('readout').value = session.readout;
    const facts = [`${about.size.toLocaleString('en')} nodes`,
      `${graph.numEdges.toLocaleString('en')} directed edges`];
    const { core } = session.planner;
    if (core !== graph) facts.push(`the map knows ${core.size} of the nodes`);
    if (about.projection) facts.push(about.projection);
    find('facts').textContent = `${facts.join(', ')}.`;
    this.numbers = names && new Map(names.map((name, node) => [name, node]));
  }

  // --- what is shown ----------------------------------------------------------

  resize() {
    const { clientWidth, clientHeight } = find('stage');
    if (clientWidth === this.drawing.width
      && clientHeight === this.drawing.height) return;
    this.drawing.resize(clientWidth, clientHeight);
    this.wholeGraph();
  }

  wholeGraph() {
    const { width, height } = this.drawing;
    const margin = Math.min(28, width / 16);
    this.view.fit({ x: margin, y: margin, width: width - 2 * margin,
      height: height - 2 * margin });
    this.repaint();
    this.paintAbove();
  }

  /** Paints the graph in the next frame; a large one when there is time. */
  repaint(moves = false) {
    if (moves && this.view.low.length > MANY) {
      this.drawing.shiftBase();
      clearTimeout(this.soon);
      this.soon = setTimeout(() => this.repaint(), 120);
      return;
    }
    this.isOld = true;
    this.frame();
  }

  /** The query, the map or the graph has changed: finds the routes again. */
  change() {
    this.isChanged = true;
    this.frame();
  }

  frame() {
    this.asked ??= requestAnimationFrame(() => {
      this.asked = null;
      if (this.isOld) {
        this.isOld = false;
        this.drawing.unshiftBase();
        this.drawing.paintBase();
        this.scaleBar();
      }
      if (this.isChanged) this.findRoutes();
      this.paintAbove();
    });
  }

  findRoutes() {
    const { session } = this;
    this.isChanged = false;
    const begin = performance.now();
    this.route = session.route();
    this.times.route = performance.now() - begin;
    this.exact = session.exact();
    this.times.exact = performance.now() - begin - this.times.route;
    this.step = -1;
    this.stop();
    this.results();
    this.player();
  }

  paintAbove() {
    if (!this.route) return;
    const { session, drawing } = this;
    const look = this.step >= 0 ? session.look(this.route.trace, this.step)
      : null;
    look?.neighbours.forEach((one) => { one.text = shown(one.value); });
    drawing.paintAbove({
      exact: this.exact.nodes,
      route: look ? look.route : this.route.nodes,
      expanded: look ? look.behind : [],
      look,
      pairOf: (one, two) => session.pairOf(one, two),
    });
    for (const name of ['start', 'goal']) {
      const [x, y] = this.view.pointOf(session[name]);
      find(name).style.transform = `translate(${x}px,${y}px)`;
    }
    this.say(look);
  }

  results() {
    const { route, exact, page, session } = this;
    const fill = (id, { nodes, cost, expansions }, gap) => {
      const cells = find(id).querySelectorAll('td');
      const found = nodes.length > 0;
      const values = [found ? shown(cost) : 'no route', gap,
        found ? nodes.length - 1 : '–', expansions.toLocaleString('en')];
      values.forEach((value, at) => { cells[at].textContent = value; });
    };
    const gap = route.nodes.length === 0 ? '–'
      : exact.cost > 0 ? `${(100 * (route.cost / exact.cost - 1)).toFixed(1)} %`
        : '0.0 %';
    fill('of-route', route, gap.replace('-0.0', '0.0'));
    fill('of-exact', exact, '');
    for (const name of ['start', 'goal']) {
      const label = page.nameOf(session[name]);
      find(`${name}-name`).value = label;
      find(`${name}-name`).setCustomValidity('');
      const what = name === 'start' ? 'Start' : 'Goal';
      find(name).setAttribute('aria-label', `${what}: ${label}`);
    }
    const count = session.closed.size;
    find('closed').textContent = count === 0 ? 'No edge is closed'
      : `${count} ${count === 1 ? 'edge is' : 'edges are'} closed`;
    find('reopen').disabled = count === 0;
  }

  legend() {
    const { field, isDark, matrix } = this.drawing;
    const most = field?.most ?? 0;
    const stops = Array.from({ length: 9 }, (_, at) => (
      `rgb(${fieldColour(at, 8, !matrix, isDark)})`));
    find('ramp').style.background = `linear-gradient(90deg, ${stops})`;
    const { unit } = this.page.about;
    find('ticks').querySelectorAll('span').forEach((tick, at) => {
      const value = shown((most * at) / 2);
      tick.textContent = unit && at === 2 ? `${value} ${unit}` : value;
    });
    find('legend').classList.toggle('off', !field);
  }

  /** A bar of a round length, where positions are in metres. */
  scaleBar() {
    if (!this.page.about.metres) return;
    const most = 120 / this.view.scale;
    const power = 10 ** Math.floor(Math.log10(most));
    const metres = power * [5, 2, 1].find((times) => times * power <= most);
    const bar = find('bar');
    bar.hidden = false;
    bar.style.width = `${metres * this.view.scale}px`;
    bar.textContent = metres < 1000 ? `${metres} m` : `${metres / 1000} km`;
  }

  // --- the field --------------------------------------------------------------

  /** Computes the field of the goal in slices; a new goal has to wait. */
  startField(again = false) {
    if (again) this.job = null; // what is under way is of another map
    if (!find('field').checked) {
      this.job = null;
      this.drawing.setField(null);
      this.legend();
      this.repaint();
      return;
    }
    if (this.job) return;
    const { session } = this;
    const job = { goal: session.goal, turns: session.planner.field(session.goal) };
    this.job = job;
    let spent = 0;
    const work = () => {
      if (this.job !== job) return;
      const begin = performance.now();
      let turn = job.turns.next();
      while (!turn.done && performance.now() - begin < SLICE) {
        turn = job.turns.next();
      }
      spent += performance.now() - begin;
      if (!turn.done) {
        setTimeout(work);
        return;
      }
      this.job = null;
      this.times.field = spent;
      const values = turn.value;
      const most = values.reduce((high, value) => (
        value < Infinity && value > high ? value : high), 0);
      this.drawing.setField({ values, most });
      this.legend();
      this.repaint();
      if (session.goal !== job.goal) this.startField();
    };
    setTimeout(work);
  }

  // --- what the user does -----------------------------------------------------

  /** Moves start or goal to a node. */
  move(name, node) {
    const { session } = this;
    if (node < 0 || node === session[name]) return;
    session[name] = node;
    this.change();
    if (name === 'goal') this.startField();
  }

  /** Where an event is on the stage. */
  place(event) {
    const box = find('stage').getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  markers() {
    for (const name of ['start', 'goal']) {
      const marker = find(name);
      marker.addEventListener('pointerdown', (event) => {
        marker.setPointerCapture(event.pointerId);
        event.stopPropagation();
      });
      marker.addEventListener('pointermove', (event) => {
        if (!marker.hasPointerCapture(event.pointerId)) return;
        this.move(name, this.view.nearestNode(...this.place(event)));
      });
      marker.addEventListener('keydown', (event) => {
        const arrow = ARROWS[event.key];
        if (!arrow) return;
        event.preventDefault();
        const node = this.session[name];
        const others = this.session.neighboursOf(node);
        this.move(name, this.view.neighbourToward(others, node, ...arrow));
      });
      const input = find(`${name}-name`);
      input.addEventListener('change', () => {
        const node = this.nodeOf(input.value);
        input.setCustomValidity(node < 0 ? 'There is no such node' : '');
        input.reportValidity();
        this.move(name, node);
      });
    }
  }

  /** The node of a name, -1 if there is none. */
  nodeOf(name) {
    const node = this.numbers ? this.numbers.get(name) : Number(name || NaN);
    return this.view.usable[node] ? node : -1;
  }

  /** Panning, zooming, and closing edges by a click. */
  stage() {
    const stage = find('stage');
    const fingers = new Map();
    let moved = 0;
    stage.addEventListener('pointerdown', (event) => {
      if (event.target.closest('#zoom')) return;
      stage.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, this.place(event));
      if (fingers.size === 1) moved = 0;
    });
    stage.addEventListener('pointermove', (event) => {
      const before = fingers.get(event.pointerId);
      if (!before) return;
      const now = this.place(event);
      const [dx, dy] = [now[0] - before[0], now[1] - before[1]];
      moved += Math.hypot(dx, dy);
      if (moved < 4) return;
      stage.classList.add('panning');
      this.view.pan(dx / fingers.size, dy / fingers.size);
      const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
      if (other) {
        const length = (point) => (
          Math.hypot(point[0] - other[0], point[1] - other[1]) || 1);
        this.view.zoom(length(now) / length(before), ...other);
      }
      fingers.set(event.pointerId, now);
      this.repaint(true);
      this.paintAbove();
    });
    const end = (event) => {
      const isClick = fingers.delete(event.pointerId) && moved < 4;
      stage.classList.remove('panning');
      if (isClick && event.type === 'pointerup') {
        this.toggle(this.view.nearestPair(...this.place(event), 12));
      }
    };
    stage.addEventListener('pointerup', end);
    stage.addEventListener('pointercancel', end);
    stage.addEventListener('wheel', (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 400), ...this.place(event));
    }, { passive: false });
    find('zoom').addEventListener('click', (event) => {
      const factor = Number(event.target.dataset.zoom);
      const { width, height } = this.drawing;
      if (factor === 0) this.wholeGraph();
      else if (factor) this.zoom(factor, width / 2, height / 2);
    });
  }

  zoom(factor, x, y) {
    this.view.zoom(factor, x, y);
    this.repaint(true);
    this.paintAbove();
  }

  /** Closes or opens the edges between two nodes. */
  toggle(pair) {
    if (pair < 0) return;
    this.session.toggle(pair);
    this.graphChanged();
  }

  graphChanged() {
    this.repaint();
    this.change();
    this.startField(true);
  }

  panel() {
    const { session, page } = this;
    find('readout').addEventListener('change', () => {
      session.readout = find('readout').value;
      this.change();
    });
    find('field').addEventListener('change', () => this.startField(true));
    find('reopen').addEventListener('click', () => {
      session.reopen();
      this.graphChanged();
    });
    const map = find('map');
    map.max = page.maps.length - 1;
    map.value = map.max;
    find('training').hidden = page.maps.length < 2;
    const name = () => { find('label').textContent = page.maps[map.value].label; };
    name();
    map.addEventListener('input', async () => {
      name();
      await session.setMap(Number(map.value));
      this.change();
      this.startField(true);
    });
  }

  // --- step by step -----------------------------------------------------------

  player() {
    const last = this.route.trace.length - 1;
    find('step').max = Math.max(last, 0);
    find('step').value = 0;
    find('player').disabled = last < 0;
    if (this.isReady) return;
    this.isReady = true;
    find('step').addEventListener('input', () => {
      this.stop();
      this.goTo(Number(find('step').value));
    });
    find('back').addEventListener('click', () => this.stepBy(-1));
    find('next').addEventListener('click', () => this.stepBy(1));
    find('play').addEventListener('click', () => this.play());
    find('done').addEventListener('click', () => {
      this.stop();
      this.goTo(-1);
    });
  }

  goTo(step) {
    this.step = Math.min(Math.max(step, -1), this.route.trace.length - 1);
    find('step').value = Math.max(this.step, 0);
    this.frame();
  }

  stepBy(number) {
    this.stop();
    this.goTo(Math.max(this.step + number, 0));
  }

  play() {
    if (this.timer) {
      this.stop();
      return;
    }
    const { length } = this.route.trace;
    if (this.step + 1 >= length) this.step = -1;
    find('play').textContent = '❚❚';
    // A long walk goes faster, so that it takes no more than half a minute.
    const pause = Math.max(40, Math.min(450, 30000 / length));
    this.timer = setInterval(() => {
      this.goTo(this.step + 1);
      if (this.step + 1 >= length) this.stop();
    }, pause);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    find('play').textContent = '▶';
  }

  say(look) {
    const { page, session } = this;
    if (!look) {
      find('said').textContent = session.walks
        ? 'Play to see what the map says at every node.'
        : 'Play to see which nodes the map makes it expand, in order.';
      return;
    }
    const best = look.neighbours.reduce((low, one) => (
      one.value < low.value ? one : low), { value: Infinity });
    const parts = [`${this.step + 1} of ${this.route.trace.length}: at `
      + `${page.nameOf(look.node)}`];
    if (best.value < Infinity) {
      const unit = page.about.unit && ` ${page.about.unit}`;
      parts.push(`the best neighbour is ${page.nameOf(best.node)}, by which the `
        + `map expects ${shown(best.value)}${unit} to the goal`);
    }
    find('said').textContent = `${parts.join('; ')}.`;
  }

  keys() {
    document.addEventListener('keydown', (event) => {
      if (event.target.closest('input, select, summary')) return;
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const act = {
        ' ': () => this.play(),
        ',': () => this.stepBy(-1),
        '.': () => this.stepBy(1),
        x: () => this.toggle(this.session.pairOf(...this.route.nodes)),
      }[event.key];
      const isButton = event.target.closest('button:not(.marker)');
      if (!act || (isButton && event.key === ' ')) return;
      event.preventDefault();
      act();
    });
  }
}

/** Opens the page of a document and shows it. */
export async function main() {
  const about = JSON.parse(find('about').textContent);
  const texts = [...document.querySelectorAll('[id^=blob]')].map(
    (element) => element.textContent);
  const page = await openPage(about, texts);
  const session = new Session(page, await page.maps.at(-1).open());
  const controls = new Controls(page, session);
  globalThis.explorer = { page, session, controls };
}

if (typeof document !== 'undefined') main();
