/** Every way in which a body can be invalid, and its error. */
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { told } from '../support/client.ts'
import { type Answer, startTestApp } from '../support/http.ts'
import { ADDRESS, TRANSFER, TRANSFER_PATH, transferRoutes, WALLET } from '../support/http-transfers.ts'
import { matchExactly } from '../support/match-exactly.ts'

const { app, send } = await startTestApp({ routes: transferRoutes })
t.teardown(() => app.close())

const post = (payload: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
  send({
    method: 'POST',
    url: TRANSFER_PATH,
    headers: { 'content-type': 'application/json', ...headers },
    payload: typeof payload === 'string' || Buffer.isBuffer(payload) ? payload : JSON.stringify(payload),
  })

t.test('a refusal is an envelope with a message, its items and the request id', async (t) => {
  const answer = await post({ ...TRANSFER, network: 'solana' })
  t.equal(answer.status, 422)
  t.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
  t.strictSame(answer.body, {
    status: 'error',
    message: 'network must be one of ethereum, polygon, binance.',
    errors: [
      {
        type: 'validation_error',
        field: 'network',
        code: 'not_allowed',
        message: 'network must be one of ethereum, polygon, binance.',
      },
    ],
    request_id: answer.headers['x-request-id'],
  })
})

t.test('a wrong network lists the allowed ones, whatever stands in its place', async (t) => {
  for (const network of ['etherium', 'ETHEREUM', '', 5, null, true, {}, ['ethereum'], undefined]) {
    const { status, body } = await post({ ...TRANSFER, network })
    t.equal(status, 422)
    matchExactly(t, body.errors, [
      { type: 'validation_error', field: 'network', message: /ethereum, polygon, binance/ },
    ])
  }
  t.match((await post({ ...TRANSFER, network: 'etherium' })).body.message, /did you mean ethereum\?/)
})

t.test('every failing field is listed, nested ones by their path', async (t) => {
  const answer = await post({
    amout: '1',
    amount: 5,
    network: 'mars',
    gas_priority: 'urgent',
    label: 'a\u0007',
    royalty: 5.001,
    valid_until: 'tomorrow',
    metadata: { image: 'not a url', nmae: 'x', name: '' },
    items: [{ to: ADDRESS }, { to: '0x12' }, {}, 'x'],
    abi: {},
  })
  t.equal(answer.status, 422)
  t.strictSame(told(answer).sort(), [
    'abi wrong_type',
    'amount wrong_type',
    'amout unknown_field',
    'gas_priority not_allowed',
    'items[1].to invalid_address',
    'items[2].to required',
    'items[3] wrong_type',
    'label invalid_text',
    'metadata.image invalid_format',
    'metadata.name too_short',
    'metadata.nmae unknown_field',
    'network not_allowed',
    'royalty invalid',
    'to required',
    'valid_until invalid_format',
  ])
  t.equal(answer.body.message, 'The request has 15 invalid fields.')
  for (const { message, field = '' } of answer.body.errors ?? []) {
    t.ok(message.startsWith(field) && message.length > field.length + 10, message)
    t.notMatch(message, /\^|\\|must match|NOT|schema/, 'the message is prose without a pattern')
  }
})

t.test('a misspelt field is named, with the closest field, and no default is used', async (t) => {
  const { status, body } = await post({ ...TRANSFER, gasPriority: 'high' })
  t.equal(status, 422)
  t.equal(body.message, 'gasPriority is not a field of this request: did you mean gas_priority?')
  t.match((await post({ ...TRANSFER, zzz: 1 })).body.message, 'zzz is not a field of this request.')
})

t.test('invalid amounts and addresses are refused with the rule in words', async (t) => {
  for (const amount of [
    '1e5',
    '-1',
    '01',
    '.5',
    '1.',
    '',
    ' 1',
    '1 ',
    '+1',
    '1,5',
    '0x10',
    '１',
    'NaN',
    '9'.repeat(158),
  ]) {
    const answer = await post({ ...TRANSFER, amount })
    t.strictSame([answer.status, ...told(answer)], [422, 'amount invalid_amount'], amount)
    t.match(answer.body.message, /decimal string such as "1\.5"/)
  }
  for (const amount of [1.5, 0, null, [], {}, true])
    t.strictSame(told(await post({ ...TRANSFER, amount })), ['amount wrong_type'])
  t.equal(
    (await post({ ...TRANSFER, amount: 1.5 })).body.message,
    'amount must be a string, not a number: put it in quotes.',
  )
  for (const amount of ['0.0000000000000000001', '9'.repeat(78), '0', '10.10']) {
    t.equal((await post({ ...TRANSFER, amount })).status, 202, `${amount} is accepted as an amount`)
  }
  for (const to of [
    '0x',
    ADDRESS.slice(0, -1),
    `${ADDRESS}0`,
    ADDRESS.slice(2),
    'vitalik.eth',
    ` ${ADDRESS}`,
    `${ADDRESS}\n`,
  ]) {
    const answer = await post({ ...TRANSFER, to })
    t.strictSame([answer.status, ...told(answer)], [422, 'to invalid_address'], JSON.stringify(to))
  }
})

t.test(
  'labels take emoji and refuse control characters; nothing reaches the database that it cannot hold',
  async (t) => {
    for (const label of ['Treasury 🏦', '👨‍👩‍👧‍👦'.repeat(10), 'ü'.repeat(128), '🏦'.repeat(128), '']) {
      const { status, body } = await post({ ...TRANSFER, label })
      t.equal(status, 202)
      t.match(body.data, { received: { label } })
    }
    for (const label of ['🏦'.repeat(129), 'a\nb', 'a\u0000b', 'a\u202eb', 'a\u007fb', '\ud83c']) {
      const answer = await post({ ...TRANSFER, label })
      t.strictSame([answer.status, ...told(answer)], [422, 'label invalid_text'])
    }
    t.strictSame(told(await post({ ...TRANSFER, abi: [{ name: '\u0000' }] })), ['abi[0].name invalid_text'])
  },
)

t.test('a body that is not an object is refused as such', async (t) => {
  for (const [payload, type] of [
    ['[]', 'an array'],
    ['"x"', 'a string'],
    ['5', 'a number'],
    ['true', 'a boolean'],
  ]) {
    const { status, body } = await post(payload)
    t.strictSame([status, body.message], [422, `The body must be an object, not ${type}.`])
  }
  for (const payload of ['null', '']) t.strictSame(told(await post(payload)), ['- body_required'])
})

t.test('broken JSON is 400, another content type 415, a body beyond the limit 413', async (t) => {
  for (const payload of [
    '{',
    '{"a":}',
    "{'to': 1}",
    '{"to": 1,}',
    'to=1',
    '\u0000',
    '{"a":NaN}',
    Buffer.from([0xff, 0xfe]),
  ]) {
    const answer = await post(payload)
    t.strictSame([answer.status, ...told(answer)], [400, '- malformed_json'])
  }
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/xml',
    'multipart/form-data',
    'json',
    '',
  ]) {
    const answer = await post(TRANSFER, { 'content-type': type })
    t.strictSame([answer.status, ...told(answer)], [415, '- unsupported_media_type'], type)
  }
  t.equal((await post(TRANSFER, { 'content-type': 'application/json; charset=utf-8' })).status, 202)
  const packed = await post(gzipSync(JSON.stringify(TRANSFER)), { 'content-encoding': 'gzip' })
  t.strictSame([packed.status, ...told(packed)], [415, '- unsupported_content_encoding'])
  t.equal((await post(TRANSFER, { 'content-encoding': 'identity' })).status, 202)
})

t.test('a duplicate field is refused: a gateway may have read the other one', async (t) => {
  const answer = await post(`{"amount":"1",${JSON.stringify(TRANSFER).slice(1)}`)
  t.strictSame([answer.status, ...told(answer)], [422, '- duplicate_field'])
})

t.test('a time is one that a clock in UTC can show', async (t) => {
  for (const valid_until of ['2030-01-31T12:00:00Z', '2030-01-31 12:00:00.123456789+05:30', '2032-02-29t00:00:00z']) {
    t.equal((await post({ ...TRANSFER, valid_until })).status, 202, valid_until)
  }
  for (const valid_until of [
    '2030-06-30T23:59:60Z',
    '2030-01-31T12:00:00+05',
    '9999-12-31T23:59:59-12:00',
    '0000-01-01T00:00:00+12:00',
    '2030-02-29T00:00:00Z',
    '2030-01-31T12:00:00',
    '2030-01-31',
    '1893456000',
  ]) {
    const answer = await post({ ...TRANSFER, valid_until })
    t.strictSame([answer.status, ...told(answer)], [422, 'valid_until invalid_format'], valid_until)
  }
})

t.test('deep, wide and poisonous bodies are refused in a bounded answer', async (t) => {
  t.strictSame(told(await post(`{"abi":${'['.repeat(2_000)}${']'.repeat(2_000)}}`)), [
    `abi${'[0]'.repeat(47)} too_deep`,
  ])
  t.strictSame(told(await post(`{"abi":${'['.repeat(30_000)}${']'.repeat(30_000)}}`)), ['- too_many_values'])
  t.strictSame(told(await post(`[${'0,'.repeat(30_000)}0]`)), ['- too_many_values'])
  const strangers = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`field${index}`, 0]))
  const answer = await post({ ...TRANSFER, ...strangers })
  t.equal(answer.status, 422)
  t.ok(answer.text.length < 100_000, `the answer has ${answer.text.length} characters`)
  const poisons = ['{"__proto__":{"a":1}}', '{"metadata":{"__proto__":{}}}', '{"constructor":{"prototype":{"a":1}}}']
  for (const payload of poisons) matchExactly(t, told(await post(payload)), [/(__proto__|constructor) unknown_field/])
  t.equal(({} as { a?: unknown }).a, undefined)
})

t.test('at most a hundred errors are reported for one body', async (t) => {
  const answer = await post({
    ...TRANSFER,
    ...Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`f${index}`, 0])),
  })
  t.equal(answer.body.errors?.length, 100)
})

t.test('a valid body is used unchanged, with its defaults', async (t) => {
  const body = {
    ...TRANSFER,
    royalty: 2.55,
    metadata: { image: 'ipfs://cid/a.png', name: 'A' },
    items: [{ to: ADDRESS }],
  }
  const { status, body: answer } = await post(body)
  t.equal(status, 202)
  matchExactly(t, answer.data, { received: { ...body, gas_priority: 'medium' } })
})

t.test(
  'a missing body is an empty one where nothing is required; where none is accepted, fields are refused',
  async (t) => {
    const to = (path: string, payload?: string) =>
      send({
        method: 'POST',
        url: `/v1/wallets/${WALLET}/${path}`,
        ...(payload === undefined ? {} : { payload, headers: { 'content-type': 'application/json' } }),
      })
    for (const payload of [undefined, '', '{}', 'null']) {
      t.equal((await to('restore', payload)).status, 200, `restore accepts ${payload}`)
      const nudged = await to('nudge', payload)
      t.strictSame([nudged.status, nudged.body.data], [200, { gas_priority: 'low' }], `nudge accepts ${payload}`)
    }
    t.strictSame((await to('nudge', '{"gas_priority":"medium"}')).body.data, { gas_priority: 'medium' })
    t.strictSame(told(await to('nudge', '{"gas_priority":"high"}')), ['gas_priority not_allowed'])
    const fields = await to('restore', '{"force":true,"label":"x"}')
    t.strictSame([fields.status, ...told(fields)], [422, 'force unknown_field', 'label unknown_field'])
    t.equal((await to('restore', '[1]')).status, 422)
  },
)
