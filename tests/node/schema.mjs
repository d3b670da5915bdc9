// Each chunk against the schema that the SDK's own clients parse with: a chunk that fails it ends their turn.
//
//   node --input-type=module - '"<file>"' < schema.mjs    the file holds {package: [chunk, …], …}
//
// Prints the chunks that a package refuses: [{"package", "chunk"}, …].
import { readFileSync } from "node:fs";

const refused = [];
for (const [name, chunks] of Object.entries(JSON.parse(readFileSync(JSON.parse(process.argv[2]), "utf8")))) {
  const { uiMessageChunkSchema } = await import(name);
  // Of version 5 it is a zod schema, later a function that makes one of the SDK's own.
  const fits = uiMessageChunkSchema.safeParse ?? ((chunk) => uiMessageChunkSchema().validate(chunk));
  for (const chunk of chunks) if (!(await fits(chunk)).success) refused.push({ package: name, chunk });
}
console.log(JSON.stringify(refused));
