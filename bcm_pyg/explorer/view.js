// Where things are on the screen, and what is near a point of it.

/** World coordinates of a page, and the part of them that is shown. */
export class View {
  constructor(page) {
    const { arrays, about, low, high } = page;
    const [width, height] = about.step;
    this.x = Float64Array.from(arrays.x, (value) => value * width);
    this.y = Float64Array.from(arrays.y, (value) => value * height);
    this.cell = about.cells ? about.step : [0, 0];
    this.low = low;
    this.high = high;
    // Bends of the pair p: from begin[p] to begin[p + 1].
    this.begin = new Int32Array(low.length + 1);
    if (arrays.bend_count) {
      arrays.bend_count.forEach((count, pair) => {
        this.begin[pair + 1] = this.begin[pair] + count;
      });
      this.bendX = new Float64Array(arrays.bend_x.length);
      this.bendY = new Float64Array(arrays.bend_y.length);
      low.forEach((node, pair) => { // they are stored from there on
        for (let at = this.begin[pair]; at < this.begin[pair + 1]; at++) {
          this.bendX[at] = (arrays.x[node] + arrays.bend_x[at]) * width;
          this.bendY[at] = (arrays.y[node] + arrays.bend_y[at]) * height;
        }
      });
    }
    // Nodes without edges are no ends of routes.
    this.usable = new Uint8Array(about.size);
    for (const ends of [low, high]) for (const node of ends) this.usable[node] = 1;
    this.bounds = about.frame // of a matrix, with the walls at its rim
      ? [0, 0, (about.frame[0] - 1) * width, (about.frame[1] - 1) * height]
      : [least(this.x), least(this.y), -least(this.x, -1), -least(this.y, -1)];
    this.scale = 1;
    this.left = 0;
    this.top = 0;
  }

  /** Shows all of the graph inside a box on the screen. */
  fit(box) {
    const [x0, y0, x1, y1] = this.bounds;
    const [wide, high] = [x1 - x0 + this.cell[0], y1 - y0 + this.cell[1]];
    this.scale = Math.min(box.width / (wide || 1), box.height / (high || 1));
    this.least = this.scale / 2;
    this.left = box.x + box.width / 2 - (this.scale * (x0 + x1)) / 2;
    this.top = box.y + box.height / 2 - (this.scale * (y0 + y1)) / 2;
  }

  /** Makes everything larger around a point of the screen. */
  zoom(factor, x, y) {
    const scale = Math.min(Math.max(this.scale * factor, this.least),
      this.least * 200);
    const change = scale / this.scale;
    this.left = x - (x - this.left) * change;
    this.top = y - (y - this.top) * change;
    this.scale = scale;
  }

  pan(x, y) {
    this.left += x;
    this.top += y;
  }

  sx(x) { return this.left + this.scale * x; }

  sy(y) { return this.top + this.scale * y; }

  pointOf(node) { return [this.sx(this.x[node]), this.sy(this.y[node])]; }

  /** The node nearest to a point of the screen. */
  nearestNode(x, y) {
    const [wx, wy] = [(x - this.left) / this.scale, (y - this.top) / this.scale];
    let [best, found] = [Infinity, -1];
    for (let node = 0; node < this.x.length; node++) {
      if (!this.usable[node]) continue;
      const gap = (this.x[node] - wx) ** 2 + (this.y[node] - wy) ** 2;
      if (gap < best) [best, found] = [gap, node];
    }
    return found;
  }

  /** Points of a pair from its lower node to the higher one, world units. */
  * pointsOf(pair) {
    const [low, high] = [this.low[pair], this.high[pair]];
    yield [this.x[low], this.y[low]];
    for (let at = this.begin[pair]; at < this.begin[pair + 1]; at++) {
      yield [this.bendX[at], this.bendY[at]];
    }
    yield [this.x[high], this.y[high]];
  }

  /** The pair nearest to a point of the screen, -1 if none is near. */
  nearestPair(x, y, most) {
    const [wx, wy] = [(x - this.left) / this.scale, (y - this.top) / this.scale];
    let [best, found] = [(most / this.scale) ** 2, -1];
    for (let pair = 0; pair < this.low.length; pair++) {
      let before = null;
      for (const point of this.pointsOf(pair)) {
        const gap = before ? distanceTo(before, point, wx, wy) : Infinity;
        if (gap < best) [best, found] = [gap, pair];
        before = point;
      }
    }
    return found;
  }

  /** The line of a route on the screen; pairOf(tail, head) names pairs. */
  lineOf(nodes, pairOf) {
    const line = [];
    nodes.forEach((node, at) => {
      if (at > 0 && this.bendX) {
        const pair = pairOf(nodes[at - 1], node);
        const bends = pair < 0 ? [] : [...this.pointsOf(pair)].slice(1, -1);
        if (this.low[pair] === node) bends.reverse();
        for (const [x, y] of bends) line.push([this.sx(x), this.sy(y)]);
      }
      line.push(this.pointOf(node));
    });
    return line;
  }

  /** The neighbour that lies most in a direction, -1 if none does. */
  neighbourToward(neighbours, node, x, y) {
    let [best, found] = [0.3, -1];
    for (const other of neighbours) {
      const [dx, dy] = [this.x[other] - this.x[node],
        this.y[other] - this.y[node]];
      const share = (dx * x + dy * y) / (Math.hypot(dx, dy) || 1);
      if (share > best) [best, found] = [share, other];
    }
    return found;
  }
}

/** The least of numbers times a sign. */
function least(values, sign = 1) {
  let out = Infinity;
  for (const value of values) out = Math.min(out, sign * value);
  return out;
}

/** Squared distance of a point to a segment. */
function distanceTo([x0, y0], [x1, y1], x, y) {
  const [dx, dy] = [x1 - x0, y1 - y0];
  const along = ((x - x0) * dx + (y - y0) * dy) / (dx * dx + dy * dy || 1);
  const share = Math.min(1, Math.max(0, along));
  return (x0 + share * dx - x) ** 2 + (y0 + share * dy - y) ** 2;
}
