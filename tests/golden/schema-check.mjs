// SPDX-License-Identifier: MIT
// Validates texts made under schemas, and the examples given for each, with ajv.
// usage: node schema-check.mjs NODE_MODULES CASES.json < TEXTS.json
// Ends with status 1 when a text does not parse, or does not validate against its schema.
import {createRequire} from "node:module";
import {readFileSync} from "node:fs";
import {resolve} from "node:path";

const [modules, casesFile] = process.argv.slice(2);
const require = createRequire(resolve(modules, "x.js"));
const Ajv = require("ajv/dist/2020").default;
const addFormats = require("ajv-formats").default;
const cases = JSON.parse(readFileSync(casesFile, "utf8"));
const made = JSON.parse(readFileSync(0, "utf8"));
let n = 0, bad = 0;

for (const c of cases) {
    const ajv = new Ajv({strict: false, allErrors: true});
    addFormats(ajv);
    const validate = ajv.compile(c.schema);
    for (const [model, texts] of Object.entries({yes: c.yes, ...made[c.name]}))
        for (const text of texts) {
            n++;
            let why = "";
            try {
                if (!validate(JSON.parse(text))) why = ajv.errorsText(validate.errors);
            } catch (e) {
                why = String(e);
            }
            if (!why) continue;
            bad++;
            console.error(`${c.name}, ${model}: ${why}: ${text.slice(0, 300)}`);
        }
}
console.error(`${n} texts, ${bad} bad`);
process.exit(bad ? 1 : 0);
