/**
 * Prisma's query engine as the Python client of Prisma starts it: an HTTP server on loopback that takes GraphQL.
 *
 * It runs Prisma's own engine in WebAssembly, which comes with the npm package @prisma/client, so that no engine has to
 * be downloaded from Prisma's server. That engine takes JSON in place of GraphQL, so requests and answers are converted.
 */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { PrismaPg } from "@prisma/adapter-pg";
import { bindAdapter } from "@prisma/driver-adapter-utils";
import { parse } from "graphql";
import pg from "pg";

const NO_TRACE = "{}";

const OPERATION =
  /^(findUnique|findFirst|findMany|createOne|createMany|updateOne|updateMany|upsertOne|deleteOne|deleteMany|aggregate|groupBy|executeRaw|queryRaw)(.*?)(OrThrow)?$/;

/** Fields with a JSON value, by model. */
function jsonFields(datamodel) {
  const models = new Map();
  for (const [, model, body] of datamodel.matchAll(/^model (\w+) \{$(.*?)^\}/gms)) {
    models.set(model, new Set([...body.matchAll(/^\s*(\w+)\s+Json\b/gm)].map((found) => found[1])));
  }
  return models;
}

/** Arguments in which the value of a JSON field is written or compared. */
const OF_JSON = new Set(["set", "equals", "not"]);

function value(node, json, isJson) {
  switch (node.kind) {
    case "IntValue": {
      const number = Number(node.value);
      return Number.isSafeInteger(number) ? number : { $type: "BigInt", value: node.value };
    }
    case "FloatValue":
      return Number(node.value);
    case "NullValue":
      return null;
    case "ListValue":
      return node.values.map((each) => value(each, json, isJson));
    case "ObjectValue":
      return values(node.fields, json, isJson);
    case "StringValue":
      return isJson ? { $type: "Json", value: node.value } : node.value;
    default:
      return node.value;
  }
}

function values(nodes, json, isJson = false) {
  return Object.fromEntries(
    nodes.map(({ name, value: given }) => [
      name.value,
      value(given, json, json.has(name.value) || (isJson && OF_JSON.has(name.value))),
    ]),
  );
}

function query(field, json) {
  const selected = field.selectionSet?.selections ?? [];
  const selection = selected.map((each) => [
    each.name.value,
    each.selectionSet || each.arguments.length > 0 ? query(each, json) : true,
  ]);
  return { arguments: values(field.arguments, json), selection: Object.fromEntries(selection) };
}

/** Converts a request with one operation, which is all that the Python client writes. */
function operation(text, models) {
  const field = parse(text).definitions[0].selectionSet.selections[0];
  const [, action, modelName, suffix = ""] = OPERATION.exec(field.name.value);
  const converted = { action: action + suffix, query: query(field, models.get(modelName) ?? new Set()) };
  return modelName ? { ...converted, modelName } : converted;
}

/** Removes the types that stand beside values such as dates. */
function plain(given) {
  if (Array.isArray(given)) return given.map(plain);
  if (given === null || typeof given !== "object") return given;
  if ("$type" in given) return plain(given.value);
  return Object.fromEntries(Object.entries(given).map(([name, each]) => [name, plain(each)]));
}

/** The rows of a query in SQL: the Python client expects JSON columns as objects. */
function parsedRows(result) {
  const isJson = result?.rows && result.types.map((type) => type === "json");
  for (const row of isJson ? result.rows : []) {
    row.forEach((column, index) => {
      if (isJson[index] && typeof column === "string") row[index] = JSON.parse(column);
    });
  }
  return result;
}

function result(answer) {
  return answer.errors ? answer : { data: { result: parsedRows(plain(Object.values(answer.data)[0])) } };
}

/** Column types that the adapter does not know, as those that it knows: `name` as `text`, and arrays of them. */
const KNOWN_TYPES = { 19: 25, 1003: 1009 };

const { addFields } = pg.Result.prototype;
pg.Result.prototype.addFields = function (fields) {
  for (const each of fields) each.dataTypeID = KNOWN_TYPES[each.dataTypeID] ?? each.dataTypeID;
  addFields.call(this, fields);
};

async function startedEngine(datamodel) {
  const require = createRequire(import.meta.url);
  const library = require("@prisma/client/runtime/query_engine_bg.postgresql.js");
  const wasm = readFileSync(require.resolve("@prisma/client/runtime/query_engine_bg.postgresql.wasm"));
  const imports = { "./query_engine_bg.js": library };
  library.__wbg_set_wasm(new WebAssembly.Instance(new WebAssembly.Module(wasm), imports).exports);
  const overrides = process.env.OVERWRITE_DATASOURCES;
  const connectionString = overrides ? JSON.parse(overrides)[0].url : process.env.DATABASE_URL;
  const options = { datamodel, logLevel: "error", logQueries: false, ignoreEnvVarErrors: true, engineProtocol: "json" };
  const adapter = bindAdapter(new PrismaPg(new pg.Pool({ connectionString })));
  const engine = new library.QueryEngine(
    { ...options, datasourceOverrides: {}, env: {}, configDir: "." },
    () => {},
    adapter,
  );
  await engine.connect(NO_TRACE);
  return engine;
}

async function answer(engine, models, path, transaction, text) {
  if (path === "/status") return { status: "ok" };
  const [, kind, id, verb] = path.split("/");
  if (kind === "transaction") {
    if (id === "start") return JSON.parse(await engine.startTransaction(text, NO_TRACE));
    const end = verb === "commit" ? engine.commitTransaction(id, NO_TRACE) : engine.rollbackTransaction(id, NO_TRACE);
    return JSON.parse(await end);
  }
  const request = JSON.parse(text);
  if (!request.batch) {
    const sent = JSON.stringify(operation(request.query, models));
    return result(JSON.parse(await engine.query(sent, NO_TRACE, transaction)));
  }
  const batch = request.batch.map((each) => operation(each.query, models));
  const sent = JSON.stringify({ batch, transaction: transaction ? undefined : {} });
  const answered = JSON.parse(await engine.query(sent, NO_TRACE, transaction));
  return answered.errors ? answered : { batchResult: answered.batchResult.map(result) };
}

async function main() {
  const datamodel = readFileSync(process.env.PRISMA_DML_PATH, "utf8");
  const models = jsonFields(datamodel);
  const engine = await startedEngine(datamodel);
  const server = createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    const text = Buffer.concat(parts).toString();
    try {
      response.end(
        JSON.stringify(await answer(engine, models, request.url, request.headers["x-transaction-id"], text)),
      );
    } catch (error) {
      console.error(error);
      response.writeHead(500).end(String(error));
    }
  });
  server.listen(Number(process.argv[process.argv.indexOf("-p") + 1]), "localhost");
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(0));
}

if (process.argv.includes("--version")) {
  console.log("query-engine 393aa359c9ad4a4bb28630fb5613f9c281cde053");
} else {
  await main();
}
