/** A proof that was issued stays valid permanently, and a changed one never is. Do not regenerate its files. */
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import { checkCommand } from '../../src/audit/commands/proof-commands.ts'
import { parseNoteVerifier } from '../../src/audit/note/note-keys.ts'
import { checkProof } from '../../src/audit/proof/check-proof.ts'
import { canonicalJson } from '../../src/core/canonical-json.ts'
import { canonicalText } from '../../src/event-log/canonical-text.ts'
import { runCommandLine } from '../support/cli.ts'

const FILE = new URL('../golden/audit/event.proof.json', import.meta.url)
const KEY = new URL('../golden/audit/audit.key.pub', import.meta.url).pathname
const text = readFileSync(FILE, 'utf8')
const verifier = parseNoteVerifier(readFileSync(KEY, 'utf8').trim())
if (verifier === undefined) throw new Error('the golden key cannot be read')

t.test('the golden proof is accepted, by the command too, with its key', async (t) => {
  t.match(checkProof(text, verifier), {
    ok: true,
    proof: { event_id: 'evt_wallet-wal_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11.2', leaf_index: 300 },
    checkpoint: { origin: 'example.com/bursar', size: 777 },
  })
  const { code, out } = await runCommandLine([checkCommand()], ['audit', 'check', FILE.pathname, '--key', KEY])
  t.equal(code, 0)
  t.match(out, /^Proved: evt_wallet-.* is event 300 of the first 777 events of example\.com\/bursar\.\n/)
})

t.test('one flipped bit anywhere in the file is refused', async (t) => {
  const bytes = Buffer.from(text, 'utf8')
  let refused = 0
  for (let index = 0; index < bytes.length; index += 1) {
    for (let bit = 0; bit < 8; bit += 1) {
      const turned = Buffer.from(bytes)
      turned[index] = (turned[index] ?? 0) ^ (1 << bit)
      const check = checkProof(turned.toString('utf8'), verifier)
      if (check.ok) t.fail(`bit ${bit} of byte ${index} is flipped, and the proof is still accepted`)
      else refused += 1
    }
  }
  t.equal(refused, 8 * bytes.length)
})

t.test('a byte more or less, or another form of the same values, is refused', async (t) => {
  for (const changed of [
    `${text} `,
    `${text}\n`,
    ` ${text}`,
    text.trimEnd(),
    JSON.stringify(JSON.parse(text)),
    '',
    '{}',
    'null',
    '[]',
  ]) {
    t.match(checkProof(changed, verifier), { ok: false, reason: 'is not a valid proof' })
  }
  const proof = JSON.parse(text) as Record<string, unknown>
  for (const change of [
    { extra: 1 },
    { leaf_index: 301 },
    { leaf_index: 300.5 },
    { event_id: 'evt_wallet-x.2' },
    { path: [] },
    { event: null },
  ]) {
    t.match(
      checkProof(`${JSON.stringify({ ...proof, ...change }, null, 2)}\n`, verifier),
      { ok: false },
      JSON.stringify(change),
    )
  }
})

t.test('members in another order are refused', async (t) => {
  const proof = JSON.parse(text) as { event: { data: object } }
  const reversed = (value: object) => Object.fromEntries(Object.entries(value).reverse())
  for (const other of [reversed(proof), { ...proof, event: { ...proof.event, data: reversed(proof.event.data) } }]) {
    t.match(checkProof(`${JSON.stringify(other, null, 2)}\n`, verifier), { ok: false, reason: 'is not a valid proof' })
  }
})

/** As PostgreSQL prints `jsonb`: keys by length, then by bytes; a space after each colon and comma. */
function asJsonb(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(asJsonb).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const keys = Object.keys(value).sort((one, other) => {
    const [a, b] = [Buffer.from(one), Buffer.from(other)]
    return a.length - b.length || Buffer.compare(a, b)
  })
  return `{${keys.map((key) => `${JSON.stringify(key)}: ${asJsonb((value as Record<string, unknown>)[key])}`).join(', ')}}`
}

t.test('the canonical text of what the database prints is the canonical text of the value', async (t) => {
  const { json } = fc.letrec((tie) => ({
    json: fc.oneof(
      { depthSize: 'small' },
      fc.string({ unit: 'binary' }),
      fc.constantFrom('', '"', '\\', '\\"', '\\\\"', 'a"b', '\u0001', '\u007f', '€', '\u2028'),
      fc.maxSafeInteger(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('json')),
      fc.dictionary(
        fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('a', 'aa', 'a!', 'a"', 'ab', 'B', '1', '10', 'é')),
        tie('json'),
      ),
    ),
  }))
  const parameters = { seed: Date.now(), numRuns: 500 }
  t.comment(`seed ${parameters.seed}`)
  fc.assert(
    fc.property(json, (value) => canonicalText(asJsonb(value)) === canonicalJson(value)),
    parameters,
  )
  for (const keys of [31, 32, 33, 40]) {
    const many = Object.fromEntries(
      Array.from({ length: keys }, (_, n) => [`${(n * 7) % keys}`.padEnd(1 + (n % 3), 'b'), n]),
    )
    t.equal(canonicalText(asJsonb(many)), canonicalJson(many), `an object of ${Object.keys(many).length} keys`)
  }
  t.not(canonicalText('{"a": 1.0}'), canonicalJson({ a: 1 }), 'canonicalText distinguishes 1.0 from 1')
})
