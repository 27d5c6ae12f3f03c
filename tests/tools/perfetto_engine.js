// Perfetto's own engine, run by Node: reads a trace and answers SQL.
//
// node engine.js BUNDLE TRACE, with a JSON list of queries on standard input and a JSON list of
// tables (lists of rows) on standard output. BUNDLE is the folder of Perfetto's web page with
// engine_bundle.js, a web worker around trace_processor.wasm. It is spoken to as the page does it,
// by messages of perfetto/trace_processor/trace_processor.proto; what is needed of them is here.
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const [bundle, trace] = process.argv.slice(2);
const APPEND = 1, FINALIZE = 2, QUERY = 3; // TraceProcessorMethod

// --- protocol buffers

function varint(value) {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
  return Buffer.from([...bytes, value]);
}
const number = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
const block = (field, bytes) =>
  Buffer.concat([varint(field * 8 + 2), varint(bytes.length), Buffer.from(bytes)]);

function* varints(bytes) { // as BigInt, signed
  for (let i = 0; i < bytes.length; ) {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[i++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) break;
    }
    yield BigInt.asIntN(64, value);
  }
}

function* fields(bytes) { // [field, value]
  const one = () => {
    const start = i;
    while (bytes[i++] > 127);
    return Number(varints(bytes.subarray(start, i)).next().value);
  };
  let i = 0;
  while (i < bytes.length) {
    const key = one(), field = key >>> 3, kind = key & 7;
    if (kind === 0) yield [field, one()];
    else {
      const length = kind === 2 ? one() : kind === 1 ? 8 : 4;
      yield [field, bytes.subarray(i, (i += length))];
    }
  }
}
const all = (bytes, wanted) => [...fields(bytes)].filter(([f]) => f === wanted).map(([, v]) => v);

// --- the worker and its port

function start() {
  const port = { replies: [], postMessage: (bytes) => port.replies.push(Buffer.from(bytes)) };
  const self = { location: { href: "file:///" } };
  class XMLHttpRequest {
    open(_, name) { this.name = path.basename(name); }
    send() {
      const bytes = fs.readFileSync(path.join(bundle, this.name));
      this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    }
  }
  const quiet = { log() {}, warn: console.error, error: console.error };
  const scope = {
    self, XMLHttpRequest, WorkerGlobalScope: class {}, console: quiet, WebAssembly, performance,
    setTimeout, TextDecoder, TextEncoder, URL, crypto, location: self.location,
    Uint8Array, TypeError, // which it knows messages and refusals by
  };
  vm.runInNewContext(fs.readFileSync(path.join(bundle, "engine_bundle.js"), "utf8"), scope);
  self.onmessage({ data: port });
  return port;
}

let sequence = 0;
function call(port, method, argument) {
  const parts = [number(1, ++sequence), number(2, method)];
  if (argument) parts.push(block(...argument));
  port.replies.length = 0;
  port.onmessage({ data: new Uint8Array(block(1, Buffer.concat(parts))) });
  const replies = all(Buffer.concat(port.replies), 1);
  for (const reply of replies)
    for (const error of all(reply, 5)) throw new Error(`engine: ${error}`);
  return replies;
}

function refused(replies, result, field) { // an error of the trace
  for (const reply of replies)
    for (const told of all(reply, result))
      for (const error of all(told, field)) throw new Error(`trace: ${error}`);
}

function query(port, sql) {
  const names = [], cells = [];
  for (const reply of call(port, QUERY, [103, block(1, Buffer.from(sql))]))
    for (const result of all(reply, 203)) {
      for (const error of all(result, 2)) throw new Error(`${sql}: ${error}`);
      names.push(...all(result, 1));
      for (const batch of all(result, 3)) cells.push(...cellsOf(batch));
    }
  const rows = [];
  for (let i = 0; i < cells.length; i += names.length) rows.push(cells.slice(i, i + names.length));
  return rows;
}

function cellsOf(batch) { // kinds in order, the values of each kind in a column of its own
  const joined = (field) => Buffer.concat(all(batch, field).filter((v) => typeof v !== "number"));
  const numbers = varints(joined(2)), floats = joined(3);
  const texts = all(batch, 5).flatMap((t) => t.toString("utf8").split("\0"));
  let float = 0, text = 0;
  return [...joined(1)].map((kind) => {
    if (kind === 1) return null;
    if (kind === 2) return Number(numbers.next().value);
    if (kind === 3) return floats.readDoubleLE(8 * float++);
    if (kind === 4) return texts[text++];
    throw new Error(`a cell of kind ${kind}`);
  });
}

async function main() {
  const port = start();
  for (let wait = 0; !port.onmessage; wait++) {
    if (wait > 600) throw new Error("the engine does not start");
    await new Promise((done) => setTimeout(done, 50));
  }
  await new Promise((done) => setTimeout(done, 50));
  refused(call(port, APPEND, [101, fs.readFileSync(trace)]), 201, 2);
  refused(call(port, FINALIZE), 212, 1);
  const queries = JSON.parse(fs.readFileSync(0, "utf8"));
  process.stdout.write(JSON.stringify(queries.map((sql) => query(port, sql))));
}

main().catch((error) => {
  console.error(String(error));
  process.exit(1);
});
