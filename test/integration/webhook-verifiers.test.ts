/** Other people's libraries verify a delivery with the very code that docs/webhooks.md shows, and refuse a changed one. */
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { signDelivery } from '../../src/webhooks/signature.ts'
import { findWebhookPython } from '../support/webhook-python.ts'

const page = readFileSync('docs/webhooks.md', 'utf8')
const EVENT = { id: 'evt_wallet-wal_01a20a29.2', type: 'wallet.created', data: { label: 'Kasse 🏦' } }
const BODY = JSON.stringify(EVENT)

/** Code of the page that verifies a delivery and names the result `event`. */
function snippetOf(language: string): string {
  const blocks = [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))]
  const code = blocks.map(([, block = '']) => block).find((block) => block.includes('.verify('))
  if (code === undefined) throw new Error(`docs/webhooks.md does not show how to verify a delivery in ${language}`)
  return code
}

/** What the page leaves to its reader: the body and the headers of a request. */
const JAVASCRIPT = `const { body: rawBody, headers } = JSON.parse(process.env.DELIVERY)
const request = { headers }
${snippetOf('js')}
console.log(event.id)`
const PYTHON = `import json as _json, os as _os, types as _types
_delivery = _json.loads(_os.environ["DELIVERY"])
raw_body, request = _delivery["body"], _types.SimpleNamespace(headers=_delivery["headers"])
${snippetOf('python')}
print(event["id"])`

const secret = randomBytes(32)
const headers = signDelivery({ secrets: [secret], ed25519: [] }, EVENT.id, Date.now(), BODY)
const old = signDelivery({ secrets: [secret], ed25519: [] }, EVENT.id, Date.now() - 301_000, BODY)

/** Checks genuine and other deliveries with a program that reads its code from standard input. */
function verifies(t: Test, command: readonly [string, ...string[]], code: string): void {
  const [program, ...args] = command
  const run = (delivery: object) => {
    const env = {
      PATH: process.env.PATH,
      DELIVERY: JSON.stringify(delivery),
      WEBHOOK_SECRET: `whsec_${secret.toString('base64')}`,
    }
    const { status, stdout, stderr } = spawnSync(program, args, { input: code, env, encoding: 'utf8' })
    return { status, stdout: stdout.trim(), stderr }
  }
  t.match(run({ body: BODY, headers }), { status: 0, stdout: EVENT.id })
  const refused = {
    'another body': { body: BODY.replace('created', 'updated'), headers },
    'another id': { body: BODY, headers: { ...headers, 'webhook-id': 'evt_wallet-wal_01a20a29-3' } },
    'an old delivery': { body: BODY, headers: old },
    'no signature': { body: BODY, headers: { ...headers, 'webhook-signature': 'v1,' } },
  }
  for (const [what, delivery] of Object.entries(refused))
    t.match(run(delivery), { status: 1, stdout: '', stderr: /VerificationError/ }, what)
}

t.test('the JavaScript of docs/webhooks.md verifies a delivery', async (t) => {
  verifies(t, [process.execPath, '--input-type=module', '-'], JAVASCRIPT)
})

const python = findWebhookPython()
t.test('the Python of docs/webhooks.md verifies a delivery', { skip: python === null }, async (t) => {
  verifies(t, [python ?? '', '-'], PYTHON)
})
