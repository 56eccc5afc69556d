/** Signing and retries of webhooks, and where they may be sent. */
import { generateKeyPairSync, randomBytes, verify } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { ValidationFailed } from '../../src/core/errors.ts'
import { createBodies } from '../../src/webhooks/bodies.ts'
import { createIsAllowedAddress } from '../../src/webhooks/public-address.ts'
import { requireReceiverUrl } from '../../src/webhooks/receiver-url.ts'
import { MAX_ATTEMPTS, nextDelayMs } from '../../src/webhooks/retry-schedule.ts'
import { createRunningDrains } from '../../src/webhooks/running-drains.ts'
import { signDelivery } from '../../src/webhooks/signature.ts'

const EVENT_ID = 'evt_transaction-tx_0197.3'
const BODY = JSON.stringify({ id: EVENT_ID, type: 'transaction.confirmed' })

t.test('the library of Standard Webhooks verifies a delivery, with both secrets of a rotation', async (t) => {
  const [old, young] = [randomBytes(24), randomBytes(64)]
  const headers = signDelivery({ secrets: [young, old], ed25519: [] }, EVENT_ID, Date.now(), BODY)
  for (const secret of [old, young]) {
    const verifier = new Webhook(`whsec_${secret.toString('base64')}`)
    t.strictSame(verifier.verify(BODY, headers), JSON.parse(BODY))
    t.throws(() => verifier.verify(BODY.replace('confirmed', 'failed'), headers), 'another body is refused')
  }
  t.throws(() => new Webhook(`whsec_${randomBytes(24).toString('base64')}`).verify(BODY, headers))
  t.notMatch(headers['webhook-id'], /\./, 'the id has no full stop, which separates the parts')
})

t.test('an event is sent with its data up to 20,000 bytes, and without them above', async (t) => {
  const event = (id: string, data: string) => ({ id, type: 'x', resource: { type: 'x', id: 'x' }, data })
  const empty = Buffer.byteLength(JSON.stringify(event('evt_full.1', '')))
  const limit = event('evt_full.1', 'ü'.repeat((20_000 - empty) / 2) + 'x'.repeat((20_000 - empty) % 2))
  const above = event('evt_over.1', `${limit.data}x`)
  const events = [limit, above]
  const bodies = createBodies(async () => events.map((one) => ({ event: one as never, index: 0 })))
  const found = await bodies.bodiesOf([limit.id, above.id])
  t.equal(Buffer.byteLength(found.get(limit.id)?.('full') ?? ''), 20_000)
  const { data: _, ...rest } = above
  t.strictSame(
    [...found].map(([, bodyOf]) => JSON.parse(bodyOf('full'))),
    [limit, rest],
  )
  t.strictSame(JSON.parse(found.get(above.id)?.('thin') ?? ''), rest)
})

t.test('an endpoint that requests it gets an Ed25519 signature beside the other', async (t) => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const secret = randomBytes(32)
  const at = Date.now()
  const headers = signDelivery({ secrets: [secret], ed25519: [privateKey] }, EVENT_ID, at, BODY)
  const [first, second] = headers['webhook-signature'].split(' ')
  t.match(first, /^v1,/)
  const [version, signature = ''] = second?.split(',') ?? []
  t.equal(version, 'v1a')
  const content = `${headers['webhook-id']}.${Math.floor(at / 1_000)}.${BODY}`
  t.ok(verify(null, Buffer.from(content), publicKey, Buffer.from(signature, 'base64')))
  t.doesNotThrow(() => new Webhook(`whsec_${secret.toString('base64')}`).verify(BODY, headers))
})

t.test(
  'a delivery is attempted ten times over three days, with jitter, and later where the receiver asks for it',
  async (t) => {
    const delays = Array.from({ length: MAX_ATTEMPTS - 1 }, (_, n) => nextDelayMs(n + 1, null, 0.5) ?? 0)
    t.equal(MAX_ATTEMPTS, 10)
    t.equal(delays[0], 5_000)
    const hours = delays.reduce((sum, delay) => sum + delay, 0) / 3_600_000
    t.ok(hours > 72 && hours < 80, `${hours} h`)
    t.equal(nextDelayMs(MAX_ATTEMPTS, null, 0.5), null)
    t.strictSame([nextDelayMs(1, null, 0), nextDelayMs(1, null, 0.999)?.toString().slice(0, 2)], [4_500, '54'])
    t.equal(nextDelayMs(1, 60_000, 0.5), 60_000)
    t.equal(nextDelayMs(1, 10 ** 12, 0.5), 86_400_000, 'a receiver cannot ask for more than a day')
  },
)

t.test('addresses with a special purpose are refused in every form', async (t) => {
  const isAllowed = createIsAllowedAddress()
  const refused = [
    '127.0.0.1',
    '127.8.8.8',
    '0.0.0.0',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '198.18.0.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '168.63.129.16',
    '::1',
    '::',
    '::ffff:127.0.0.1',
    '::ffff:a00:1',
    '::7f00:1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '2001::1',
    'fc00::1',
    'fe80::1',
    'ff02::1',
    'localhost',
    '',
    '1.2.3',
  ]
  for (const address of refused) t.notOk(isAllowed(address), address)
  for (const address of ['93.184.216.34', '2606:2800:220:1:248:1893:25c8:1946', '::ffff:93.184.216.34'])
    t.ok(isAllowed(address), address)
  const withRanges = createIsAllowedAddress(['127.0.0.0/8', 'fd00::/8'])
  t.strictSame(['127.0.0.1', '::ffff:127.0.0.1', 'fd00::1', '10.0.0.1'].map(withRanges), [true, true, true, false])
})

t.test('the URL of a webhook is checked and brought to its normal form', async (t) => {
  const rules = { allowsHttp: false, isAllowedAddress: createIsAllowedAddress() }
  const codeOf = (url: string, others = rules) => {
    try {
      return requireReceiverUrl(url, others)
    } catch (error) {
      return error instanceof ValidationFailed ? error.items[0]?.code : error
    }
  }
  const results = {
    'https://example.com/hook?x=1#part': 'https://example.com/hook?x=1',
    'https://EXAMPLE.com:443': 'https://example.com/',
    'https://bücher.example/': 'https://xn--bcher-kva.example/',
    'https://example.com:8443/': 'https://example.com:8443/',
    'https://example.com:25/': 'url_port_refused',
    'http://example.com/': 'url_not_https',
    'ftp://example.com/': 'url_not_https',
    'https://user:secret@example.com/': 'url_has_credentials',
    'https://localhost/': 'url_not_public',
    'https://LOCALHOST./': 'url_not_public',
    'https://sub.localhost/': 'url_not_public',
    'https://①②⑦.0.0.1/': 'url_not_public',
    'https://0177.0.0.1/': 'url_not_public',
    'https://[::7f00:1]/': 'url_not_public',
    'https://168.63.129.16/': 'url_not_public',
    'https://[fe80::1%25eth0]/': 'invalid_url',
    'https://example.com:99999/': 'invalid_url',
    'https://metadata.google.internal/': 'url_not_public',
    'https://2130706433/': 'url_not_public',
    'https://0x7f.1/': 'url_not_public',
    'https://[::ffff:127.0.0.1]/': 'url_not_public',
    'https://169.254.169.254/latest': 'url_not_public',
    'example.com/hook': 'invalid_url',
    '': 'invalid_url',
  }
  for (const [url, result] of Object.entries(results)) t.equal(codeOf(url), result, url)
  t.equal(codeOf(`https://example.com/${'x'.repeat(2_048)}`), 'invalid_url')
  t.equal(codeOf(`https://example.com/${'ü'.repeat(500)}`), 'invalid_url', 'its normal form is too long')
  const local = { allowsHttp: true, isAllowedAddress: createIsAllowedAddress(['127.0.0.0/8']) }
  t.equal(codeOf('http://127.0.0.1:3001/hook', local), 'http://127.0.0.1:3001/hook')
  t.equal(codeOf('http://localhost:3001/', local), 'http://localhost:3001/')
  t.equal(codeOf('http://10.0.0.1:3001/', local), 'url_not_public')
})

t.test('a drain that runs is told of more, and none waits in a process that adds no deliveries', async (t) => {
  const running = createRunningDrains()
  const { signal } = new AbortController()
  const drain = running.begin('one')
  t.notOk(await drain.more(signal), 'nobody was told')
  t.ok(running.wake('one'))
  t.ok(await drain.more(signal), 'woken during its round')
  const more = drain.more(signal)
  running.wake('one')
  t.ok(await more, 'woken while it waits')
  t.notOk(running.wake('other'), 'another webhook needs a job')
  t.notOk(await drain.more(signal))
  const stopped = new AbortController()
  const left = drain.more(stopped.signal)
  stopped.abort()
  t.notOk(await left, 'stopped while it waits')
  drain.end()
  t.notOk(running.wake('one'))
})
