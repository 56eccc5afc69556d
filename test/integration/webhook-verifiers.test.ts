/**
 * Other people's libraries verify a delivery with the very code that docs/webhooks.md shows, and refuse a changed one. What
 * they verify is what arrived at a receiver, and with the secret and the key that the API showed.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { createSafeAgents } from '../../src/webhooks/connect-safely.ts'
import { createLookUp } from '../../src/webhooks/look-up.ts'
import { postDelivery } from '../../src/webhooks/post.ts'
import { createIsAllowedAddress } from '../../src/webhooks/public-address.ts'
import { signDelivery } from '../../src/webhooks/signature.ts'
import { buildWebhookGo } from '../support/webhook-go.ts'
import { findWebhookPython } from '../support/webhook-python.ts'
import { LOCAL_RECEIVERS, withReceiver } from '../support/webhook-receiver.ts'
import { keysOf, withWebhooks } from '../support/webhook-stage.ts'

const page = readFileSync('docs/webhooks.md', 'utf8')
const EVENT = { id: 'evt_wallet-wal_01a20a29.2', type: 'wallet.created', data: { label: 'Kasse 🏦' } }
const BODY = JSON.stringify(EVENT)

/** Code of the page that verifies a delivery. @param mark what it contains */
function snippetOf(language: string, mark: string): string {
  const blocks = [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))]
  const code = blocks.map(([, block = '']) => block).find((block) => block.includes(mark))
  if (code === undefined) throw new Error(`docs/webhooks.md does not show how to verify a delivery in ${language}`)
  return code
}

/** What the page leaves to its reader: the body and the headers of a request. */
const JAVASCRIPT = `const { body: rawBody, headers } = JSON.parse(process.env.DELIVERY)
const request = { headers }
${snippetOf('js', '.verify(')}
console.log(event.id)`
const PYTHON = `import json as _json, os as _os, types as _types
_delivery = _json.loads(_os.environ["DELIVERY"])
raw_body, request = _delivery["body"], _types.SimpleNamespace(headers=_delivery["headers"])
${snippetOf('python', '.verify(')}
print(event["id"])`
const GO = `package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

${snippetOf('go', 'func verifyV1a(')}
func verify(rawBody []byte, request *http.Request) error {
	if key := os.Getenv("PUBLIC_KEY"); key != "" {
		if verifyV1a(key, request.Header, rawBody) {
			return nil
		}
		return errors.New("unable to verify v1a")
	}
${snippetOf('go', '.Verify(rawBody')}
	return err
}

func main() {
	var delivery struct {
		Body    string
		Headers map[string]string
	}
	var event struct{ Id string }
	err := json.Unmarshal([]byte(os.Getenv("DELIVERY")), &delivery)
	request := &http.Request{Header: http.Header{}}
	for name, value := range delivery.Headers {
		request.Header.Set(name, value)
	}
	if err == nil {
		err = verify([]byte(delivery.Body), request)
	}
	if err == nil {
		err = json.Unmarshal([]byte(delivery.Body), &event)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(event.Id)
}
`

/** A delivery as it arrived, with what its receiver has from the API. */
async function deliver(t: Test) {
  const stage = await withWebhooks(t, LOCAL_RECEIVERS)
  const receiver = await withReceiver(t)
  const { webhook_id, secret, public_key } = await stage.create({
    url: receiver.urlOf('/hook'),
    signatures: ['v1', 'v1a'],
  })
  receiver.verifyWith('/hook', secret)
  const agents = createSafeAgents(createIsAllowedAddress(['127.0.0.0/8']), createLookUp({ hasOwnNetworks: true }))
  const keys = await keysOf(stage)({ webhookId: webhook_id, version: 1 })
  const signed = signDelivery(keys, EVENT.id, Date.now(), BODY)
  await postDelivery({ agents, userAgent: 'Bursar' }, receiver.urlOf('/hook'), signed, BODY)
  agents.http.destroy()
  const [arrived] = receiver.all
  if (arrived === undefined) throw new Error('nothing arrived')
  const old = signDelivery(keys, EVENT.id, Date.now() - 301_000, BODY)
  return { secret, publicKey: public_key, body: arrived.body, headers: arrived.headers, old }
}

type Delivery = Awaited<ReturnType<typeof deliver>>
type Verifier = {
  readonly command: readonly [string, ...string[]]
  /** Given on standard input. */
  readonly code?: string
  /** What it knows of the webhook. */
  readonly env: Readonly<Record<string, string>>
  readonly refusal: RegExp
}

/** Checks the delivery, and changed ones. */
function verifies(
  t: Test,
  { body, headers, old }: Delivery,
  { command, code = '', env: own, refusal }: Verifier,
): void {
  const [program, ...args] = command
  const run = (delivery: object) => {
    const env = { PATH: process.env.PATH, DELIVERY: JSON.stringify(delivery), ...own }
    const { status, stdout, stderr } = spawnSync(program, args, { input: code, env, encoding: 'utf8' })
    return { status, stdout: stdout.trim(), stderr }
  }
  t.match(run({ body, headers }), { status: 0, stdout: EVENT.id })
  const refused = {
    'another body': { body: body.replace('created', 'updated'), headers },
    'another id': { body, headers: { ...headers, 'webhook-id': 'evt_wallet-wal_01a20a29-3' } },
    'an old delivery': { body, headers: old },
    'no signature': { body, headers: { ...headers, 'webhook-signature': 'v1, v1a,' } },
  }
  for (const [what, delivery] of Object.entries(refused))
    t.match(run(delivery), { status: 1, stdout: '', stderr: refusal }, what)
}

const python = findWebhookPython()
const go = buildWebhookGo(t, GO)

t.test('the code of docs/webhooks.md verifies a delivery', async (t) => {
  const delivery = await deliver(t)
  const env = { WEBHOOK_SECRET: delivery.secret }
  await t.test('in JavaScript', async (t) => {
    const command = [process.execPath, '--input-type=module', '-'] as const
    verifies(t, delivery, { command, code: JAVASCRIPT, env, refusal: /VerificationError/ })
  })
  await t.test('in Python', { skip: python === null }, async (t) => {
    verifies(t, delivery, { command: [python ?? '', '-'], code: PYTHON, env, refusal: /VerificationError/ })
  })
  await t.test('in Go', { skip: go === null }, async (t) => {
    verifies(t, delivery, { command: [go ?? ''], env, refusal: /unable to verify payload/ })
  })
  await t.test('in Go with the public key', { skip: go === null }, async (t) => {
    const verifier = { command: [go ?? ''], refusal: /unable to verify v1a/ } as const
    verifies(t, delivery, { ...verifier, env: { PUBLIC_KEY: delivery.publicKey } })
    const v1 = { ...delivery.headers, 'webhook-signature': `${delivery.headers['webhook-signature']}`.split(' ')[0] }
    const request = { DELIVERY: JSON.stringify({ body: delivery.body, headers: v1 }), PUBLIC_KEY: delivery.publicKey }
    t.match(spawnSync(go ?? '', { env: request }), { status: 1 }, 'without the signature of the key')
  })
})
