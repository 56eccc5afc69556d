/** Contract calls through the service on a real chain: sent, simulated, read, refused. */
import { randomBytes } from 'node:crypto'
import { Interface } from 'ethers/abi'
import t from 'tap'
import { toChecksumAddress } from '../../src/chain/address.ts'
import { explainRevert } from '../../src/chain/explain-revert.ts'
import type { RpcReader } from '../../src/chain/json-rpc.ts'
import { FACTORY_ADDRESS } from '../../src/nft/contracts/collection.ts'
import { RICH } from '../support/followed-chain.ts'
import type { LoadWallet } from '../support/load.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { onChain, RECIPIENT, withStage } from '../support/service-stage.ts'
import { compileSolidity, contractIn } from '../support/solidity.ts'

const CALLEE = contractIn(compileSolidity('Callee.sol'), 'Callee')
const ABI = JSON.parse(CALLEE.abi.formatJson()) as { readonly type: string }[]
const WATCHED = '0x00000000000000000000000000000000000000d1'

const stage = await withStage(t)
const { service, rpc, mine, until, settle } = stage
const [wallet, other] = (await service.makeWallets(2)) as [LoadWallet, LoadWallet]
const callee = await deploy(CALLEE.bytecode)

async function deploy(bytecode: string): Promise<string> {
  const hash = await rpc('eth_sendTransaction', { from: RICH, data: bytecode })
  await mine()
  const receipt = (await rpc('eth_getTransactionReceipt', hash)) as { contractAddress: string }
  return toChecksumAddress(receipt.contractAddress)
}

/** @param body completed by the address and the ABI of the contract */
async function call(body: object, { id } = wallet, key = randomBytes(8).toString('hex')) {
  const path = `/v1/wallets/${id}/contract-call`
  const described = 'function_signature' in body || 'data' in body ? {} : { abi: ABI }
  return service.api.insist({ method: 'POST', path, key, body: { contract_address: callee, ...described, ...body } })
}

async function mistakeOf(body: object, from = wallet): Promise<string> {
  const { status, body: answer } = await call(body, from)
  return `${status} ${answer.errors?.map(({ field, code }) => (field === undefined ? code : `${field} ${code}`)).join(', ')}`
}

const contractOf = async (name: string, args: readonly unknown[] = []) => {
  const data = CALLEE.abi.encodeFunctionData(name, args)
  return CALLEE.abi.decodeFunctionResult(name, (await rpc('eth_call', { to: callee, data }, 'latest')) as string)[0]
}

t.test('reads a function by ABI, by signature and by data, with values by position and name', async (t) => {
  const args = [{ x: '-7', label: 'length' }, ['0x01020304', '0x0a0b0c0d'], true]
  const { status, body } = await call({ mode: 'read', function: 'describe', args })
  t.equal(status, 200)
  matchExactly(t, body.data, {
    mode: 'read',
    success: true,
    call: {
      function: 'describe',
      signature: 'describe((int64,string),bytes4[2],bool)',
      args: [{ name: 'point' }, {}, {}],
    },
    return_values: [
      {
        name: 'same',
        type: '(int64,string)',
        value: [
          { name: 'x', value: '-7' },
          { name: 'label', value: 'length' },
        ],
      },
      { name: 'last', type: 'bytes4', value: '0x0a0b0c0d' },
      { name: '', type: 'bool', value: true },
      { name: 'length', type: 'uint256', value: '6' },
    ],
    decoding: 'complete',
    gas_estimate: null,
    balance_changes: null,
    revert: null,
  })
  const signed = await call({
    mode: 'read',
    function_signature: 'overloaded(uint256) view returns (uint256)',
    args: ['41'],
  })
  matchExactly(t, signed.body.data.return_values, [{ value: '42' }])
  const data = CALLEE.abi.encodeFunctionData('overloaded(string)', ['same'])
  const raw = await call({ mode: 'read', data })
  matchExactly(t, raw.body.data.return_values, [])
  t.match(raw.body.data, { decoding: 'none', call: { function: null, args: null }, success: true })
  const large = await call({ mode: 'read', function: 'large', args: [20_000] })
  t.match(large.body.data, { decoding: 'too_large', return_values: null })
  t.equal(large.body.data.return_data.length, 2 + 2 * 20_064)
})

t.test('a call that reverts says why: custom errors, panics, endless loops, errors inside of errors', async (t) => {
  const revert = async (body: object) => {
    const { status, body: answer } = await call({ mode: 'simulate', ...body })
    matchExactly(t, [status, answer.data.success, answer.data.return_values], [200, false, null])
    return answer.data.revert
  }
  matchExactly(t, await revert({ function: 'refuse', args: [false] }), {
    name: 'Refused',
    args: [{ name: 'who', value: wallet.address }, { name: 'points' }],
    reason: /^Refused\(who: /,
  })
  t.match(await revert({ function: 'refuse', args: [true] }), { inner: { inner: { name: 'Refused' } } })
  t.match(await revert({ function: 'element', args: [3] }), { name: 'Panic', reason: /index out of bounds/ })
  t.match(await revert({ function: 'loop' }), { name: null, reason: /more than 16777216 gas/ })
  t.match(await revert({ function: 'pay', args: [callee], value: '1' }), { name: 'Error', reason: 'not paid' })
})

t.test('a simulation shows the gas and what the wallet gives and gets', async (t) => {
  const { body } = await call({ mode: 'simulate', function: 'pay', args: [RECIPIENT], value: '0.25' })
  matchExactly(t, body.data, { success: true, balance_changes: [{ asset: 'ETH', change: '-0.25' }] })
  t.ok(Number(body.data.gas_estimate) > 21_000)
  t.equal((await onChain(stage, wallet)).length, 0, 'nothing was sent')
})

t.test('a sent call is a transaction with its decoded call, and lands once', async (t) => {
  const key = randomBytes(8).toString('hex')
  const body = { function: 'count', args: ['5', 'once'], reference_id: 'ref' }
  const first = await call(body, wallet, key)
  t.equal(first.status, 202)
  const again = await call(body, wallet, key)
  t.strictSame(again.body.data.transaction_id, first.body.data.transaction_id)
  await until(wallet, first.body.data.transaction_id, 'submitted')
  await mine()
  const view = await until(wallet, first.body.data.transaction_id, 'mined', 'confirmed')
  matchExactly(t, view, {
    type: 'CONTRACT',
    to: callee,
    amount: '0',
    reference_id: 'ref',
    call: {
      function: 'count',
      selector: /^0x/,
      args: [
        { name: 'by', value: '5' },
        { name: 'note', value: 'once' },
      ],
    },
  })
  t.equal(await contractOf('total'), 5n)
  const { events, events_truncated } = (await stage.read(wallet, first.body.data.transaction_id)) as unknown as {
    events: readonly object[]
    events_truncated: boolean
  }
  t.equal(events_truncated, false)
  matchExactly(t, events, [
    {
      address: callee,
      name: 'Counted',
      args: [{ value: wallet.address }, { value: '5' }, { name: 'note', value: 'once' }],
    },
    {
      name: 'Noted',
      args: [
        { name: 'topic', note: 'hash' },
        { name: 'data', value: '0xc0ffee' },
      ],
    },
  ])
  await settle()
  t.match(await stage.read(wallet, first.body.data.transaction_id), { state: 'confirmed' })
})

t.test('what a call allows others to spend is shown, with a warning if it has no limit', async (t) => {
  const unlimited = (1n << 256n) - 1n
  const approve = { function_signature: 'approve(address,uint256)', args: [RECIPIENT, unlimited.toString()] }
  const inner = new Interface(['function approve(address, uint256)']).encodeFunctionData('approve', [RECIPIENT, 5])
  const spend = { kind: 'approve', token: callee, spender: toChecksumAddress(RECIPIENT), amount: 'unlimited' }
  const simulated = await call({ ...approve, mode: 'simulate' })
  matchExactly(t, simulated.body.data.call, { spends: [spend], warnings: [{ code: 'unlimited_spend' }] })
  const multicall = { function_signature: 'multicall(bytes[])', args: [[inner]], gas_limit: 100_000 }
  const { body } = await call(multicall)
  const { call: sent } = (await stage.read(wallet, body.data.transaction_id)) as unknown as { call: object }
  matchExactly(t, sent, { function: 'multicall', spends: [{ ...spend, amount: '5' }], warnings: [] })
  await settle()
})

t.test('20 concurrent calls of one wallet land once each', async (t) => {
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => call({ function: 'count', args: [1_000 + n, ''] })),
  )
  t.ok(answers.every(({ status }) => status === 202))
  await settle()
  for (const n of Array(20).keys()) t.equal(await contractOf('landed', [1_000 + n]), 1n, String(n))
})

t.test('native currency goes with a call, and is held until it is in a block', async (t) => {
  const before = BigInt((await rpc('eth_getBalance', RECIPIENT, 'latest')) as string)
  const { body } = await call({ function: 'pay', args: [RECIPIENT], value: '2' })
  await settle()
  t.match(await stage.read(wallet, body.data.transaction_id), { state: 'confirmed', amount: '2' })
  t.equal(BigInt((await rpc('eth_getBalance', RECIPIENT, 'latest')) as string) - before, 2n * 10n ** 18n)
  t.equal(
    await mistakeOf({ function: 'pay', args: [RECIPIENT], value: '1000000', gas_limit: 60_000 }),
    '422 insufficient_funds',
  )
})

t.test('a call that reverts now is refused with the reason, and with gas_limit fails unsigned with it', async (t) => {
  const { status, body } = await call({ function: 'refuse', args: [false] })
  t.equal(status, 422)
  matchExactly(t, body.errors, [{ code: 'view_function' }])
  const pull = { function_signature: 'pull(address,uint256)', args: [callee, '1'] }
  t.equal(await mistakeOf(pull), '422 contract_address call_reverts')
  const sent = await call({ ...pull, gas_limit: 100_000 })
  t.equal(sent.status, 202)
  const view = await until(wallet, sent.body.data.transaction_id, 'failed')
  t.match(view, { failure: { code: 'execution_reverted' }, nonce: null })
})

t.test('a failed call says why by the errors of its ABI, before it is signed and in its block', async (t) => {
  const refuse = { abi: ABI, function_signature: 'refuse(bool)', args: [true], gas_limit: 100_000 }
  const { body } = await call(refuse)
  const { failure } = await until(wallet, body.data.transaction_id, 'failed')
  t.match(failure, { code: 'execution_reverted', message: /^Wrapped: Wrapped: Refused\(who: / })

  const data = CALLEE.abi.encodeFunctionData('refuse', [false])
  const hash = await rpc('eth_sendTransaction', { from: RICH, to: callee, data, gas: '0x30d40' })
  await mine()
  const raw = (await rpc('eth_getRawTransactionByHash', hash)) as string
  const { blockNumber } = (await rpc('eth_getTransactionReceipt', hash)) as { blockNumber: string }
  const [chain] = service.kernel.chains.all
  const because = (errors: readonly string[]) =>
    explainRevert(chain?.client as RpcReader, { blockNumber: Number(blockNumber), gasUsed: 30_000n }, raw, errors)
  t.match(await because(['error Refused(address who, (int64 x, string label)[] points)']), /^Refused\(who: 0x/)
  t.match(await because(['error Refused(']), /^unknown error 0x/, 'a fragment that is not valid is left out')
})

t.test('what would do nothing, or something else, is refused with its field', async (t) => {
  const erc20 = new Interface(['function transfer(address to, uint256 amount)'])
  const transfer = erc20.encodeFunctionData('transfer', [RECIPIENT, 1])
  const count = { function: 'count', args: ['1', ''] }
  const refused: readonly (readonly [object, string])[] = [
    [{ ...count, contract_address: RECIPIENT }, '422 contract_address not_a_contract'],
    [{ ...count, contract_address: wallet.address }, '422 contract_address own_address'],
    [{ ...count, contract_address: `0x${'0'.repeat(40)}` }, '422 contract_address zero_address'],
    [{ ...count, contract_address: `0x${'0'.repeat(39)}4` }, '422 contract_address precompile'],
    [{ ...count, contract_address: null }, '422 contract_address wrong_type'],
    [{ ...count, contract_address: FACTORY_ADDRESS }, '409 managed_contract'],
    [{ ...count, value: '1' }, '422 value not_payable'],
    [{ ...count, value: '-1' }, '422 value invalid_amount'],
    [{ function: 'total' }, '422 mode view_function'],
    [{ function: 'overloaded', args: ['1'], mode: 'read' }, '422 function ambiguous_function'],
    [{ function: 'countt', args: [] }, '422 function unknown_function'],
    [{ ...count, function_signature: 'count()' }, '422 function_signature not_allowed, abi required'],
    [{ function: 'count', args: ['1'] }, '422 args wrong_length'],
    [{ function: 'count', args: ['x', 1] }, '422 args[0] invalid_integer, args[1] wrong_type'],
    [{ data: '0x' }, '422 data use_transfer'],
    [{ data: '0x', value: '1' }, '422 data use_transfer'],
    [{ data: '0x123' }, '422 data invalid_hex'],
    [{ data: transfer, args: [] }, '422 args not_allowed'],
    [{ data: transfer, function_signature: 'approve(address,uint256)' }, '422 data selector_mismatch'],
    [{ data: `0x${'00'.repeat(131_073)}` }, '422 data too_large'],
    [{ function_signature: 'f(uint7)' }, '422 function_signature invalid_abi'],
    [{ abi: ['event E(uint7 a)'], data: transfer }, '422 abi[0] invalid_abi'],
    [{ abi: ['x'.repeat(65_536)], data: transfer }, '422 abi too_large'],
    [{ ...count, gas_limit: 20_999 }, '422 gas_limit too_small'],
    [{ ...count, gas_limit: 16_777_217 }, '422 gas_limit too_large'],
    [{ ...count, gas_limit: 50_000_001 }, '422 gas_limit too_large'],
    [{ ...count, mode: 'sent' }, '422 mode not_allowed'],
    [{}, '422 function required'],
  ]
  for (const [body, mistake] of refused) t.equal(await mistakeOf(body), mistake, JSON.stringify(body).slice(0, 80))
  t.strictSame((await onChain(stage, other)).length, 0)
})

t.test('a watch wallet reads and simulates, and does not send', async (t) => {
  const { body } = await service.api.insist({
    method: 'POST',
    path: '/v1/wallets/watch',
    key: 'watch',
    body: { network: 'ethereum', address: WATCHED },
  })
  const watch = { id: body.data.wallet_id as string, address: WATCHED } as LoadWallet
  t.equal((await call({ mode: 'read', function: 'total' }, watch)).status, 200)
  t.equal(await mistakeOf({ function: 'count', args: ['1', ''] }, watch), '422 wallet_id watch_only')
})

t.test('an archived wallet does not send', async (t) => {
  const [archived] = (await service.makeWallets(1)) as [LoadWallet]
  await service.kernel.pool.query(`UPDATE wallets SET status = 'archived' WHERE wallet_id = $1`, [archived.id])
  t.equal(await mistakeOf({ function: 'count', args: ['1', ''] }, archived), '409 wallet_archived')
  t.equal((await onChain(stage, archived)).length, 0)
})

t.test('calls above the rate of the tenant are refused, whatever their mode', async (t) => {
  const limited = await withStage(t, { env: { QUOTA_CALLS_PER_SECOND: '1' } })
  const [asked] = (await limited.service.makeWallets(1)) as [LoadWallet]
  const path = `/v1/wallets/${asked.id}/contract-call`
  const body = { mode: 'read', contract_address: RECIPIENT, function_signature: 'total()' }
  const ask = () => limited.service.api.once({ method: 'POST', path, body })
  const answers = await Promise.all(Array.from({ length: 40 }, ask))
  const codes = new Set(answers.map(({ status, body: { errors } }) => `${status} ${errors?.[0]?.code}`))
  t.strictSame([...codes].toSorted(), ['422 not_a_contract', '429 quota_calls_per_second'])
  const refused = answers.find(({ status }) => status === 429)
  t.ok(Number(refused?.headers['retry-after']) >= 1)
})

t.end()
