/** Logs contain no secrets: the output is read and searched. */
import t from 'tap'
import { createLogger } from '../../src/logging.ts'
import { withoutQuotedSecrets } from '../../src/redaction.ts'
import { matchExactly } from '../support/match-exactly.ts'

const RAW = `0x02f8${'ab'.repeat(110)}`
const SEED = 'legal winner thank year wave sausage worth useful legal winner thank yellow'

function capture() {
  const lines: string[] = []
  const logger = createLogger({ level: 'info', processName: 'api' }, { write: (line) => void lines.push(line) })
  return { logger, text: () => lines.join(''), last: () => JSON.parse(lines.at(-1) ?? '{}') as Record<string, unknown> }
}

t.test('a line is one JSON object with its level, time, process, message and fields', async (t) => {
  const { logger, last, text } = capture()
  logger.info({ wallet_id: 'wal_1', nested: { list: [1, { a: null }] } }, 'wallet created')
  matchExactly(t, last(), {
    level: 'info',
    process: 'api',
    message: 'wallet created',
    wallet_id: 'wal_1',
    nested: { list: [1, { a: null }] },
    time: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
  })
  logger.debug('not at this level')
  t.equal(text().split('\n').length, 2)
})

t.test('secrets are removed by their names, in any spelling and at any depth', async (t) => {
  const { logger, last, text } = capture()
  const names = [
    'authorization',
    'Authorization',
    'seed',
    'mnemonic',
    'privateKey',
    'private_key',
    'private-key',
    'share',
  ]
  const more = [
    'shares',
    'key_share',
    'rawTransaction',
    'raw_transaction',
    'raw',
    'apiKey',
    'API_KEY',
    'KEYSTORE_KEY',
    'databaseUrl',
    'IPFS_API_URL',
    'ipfsApiAuthorization',
  ]
  for (const name of [...names, ...more]) {
    logger.info({ [name]: SEED, deep: { er: [{ [name]: [SEED] }] }, kept: 'kept' }, 'secret')
    t.strictSame(last()[name], '[redacted]', name)
    t.strictSame(last().kept, 'kept')
  }
  logger.child({ seed: SEED }).warn('in what a child always says')
  t.notMatch(text(), /legal winner/)
})

t.test('logging does not change the logged object', async (t) => {
  const { logger, last } = capture()
  const fields = { config: { seed: SEED, list: [{ raw: RAW }] } }
  logger.info(fields, 'secret')
  t.strictSame(fields, { config: { seed: SEED, list: [{ raw: RAW }] } })
  t.strictSame(last().config, { seed: '[redacted]', list: [{ raw: '[redacted]' }] })
})

t.test('fields that are not secrets are logged whole, such as hashes, addresses and token symbols', async (t) => {
  const { logger, last } = capture()
  const fields = {
    hash: `0x${'ab'.repeat(32)}`,
    address: `0x${'cd'.repeat(20)}`,
    token: 'USDC',
    token_id: '7',
    shared: true,
    tokens: ['USDC'],
  }
  logger.info(fields, 'transaction')
  matchExactly(t, last(), fields)
})

t.test('circular or deeply nested fields do not stop the process', async (t) => {
  const { logger, last } = capture()
  const circle: Record<string, unknown> = { seed: SEED }
  circle.self = circle
  logger.info({ circle }, 'round')
  t.equal(last().message, 'round')
  t.notMatch(JSON.stringify(last()), /legal winner/)
})

t.test('an error shows its message, code, stack and causes, and nothing else that hangs on it', async (t) => {
  const { logger, last, text } = capture()
  const cause = Object.assign(new Error(`could not coalesce error (payload={ "params": [ "${RAW}" ] })`), {
    code: 'UNKNOWN_ERROR',
    info: { requestBody: SEED },
    transaction: { data: SEED },
  })
  logger.error({ err: new Error('sending failed', { cause }) }, 'failed')
  t.match(last().err, {
    type: 'Error',
    message: 'sending failed',
    stack: /sending failed/,
    cause: { type: 'Error', code: 'UNKNOWN_ERROR', message: /"params": \[ "\[redacted\]" \]/ },
  })
  logger.error(new Error(`GET https://mainnet.example/v3/0123456789abcdef?x=1 with Bearer bsk_live_0123`))
  logger.error({ err: new Error('postgres://bursar:hunter2@db.example:5432/bursar refused') }, 'failed')
  logger.error({ err: `thrown as text: Bearer bsk_live_0123` }, 'failed')
  for (const secret of ['02f8ab', 'legal winner', '0123456789abcdef', 'bsk_live', 'hunter2']) t.notMatch(text(), secret)
  t.match(text(), /mainnet\.example/, 'the log names the host of the node')
  t.match(text(), /db\.example:5432/)
})

t.test('quoted secrets are cut out of text, and short hexadecimal stays', async (t) => {
  const hash = `0x${'ab'.repeat(32)}`
  t.equal(withoutQuotedSecrets(`transaction ${hash} failed`), `transaction ${hash} failed`)
  t.equal(
    withoutQuotedSecrets(`bytes ${RAW}, signature ${'cd'.repeat(65)}.`),
    'bytes [redacted], signature [redacted].',
  )
  t.equal(withoutQuotedSecrets('wss://u:p@node.example/key'), 'wss://node.example/[redacted]')
})
