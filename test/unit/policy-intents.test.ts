/** What requests are judged as: what they can move, whatever they are called. */
import { Interface } from 'ethers/abi'
import t from 'tap'
import { JUDGED_KINDS } from '../../src/compose/capabilities.ts'
import { OPENINGS } from '../../src/declarations.ts'
import { encodeMint, encodeMintBatch } from '../../src/nft/contracts/encode-calls.ts'
import { ANY } from '../../src/policies/intent.ts'
import { judgedExport, judgedKeyChange, judgedSignature } from '../../src/policies/signature-intents.ts'
import { judgedTransaction } from '../../src/policies/transaction-intents.ts'
import type { SwapIntent } from '../../src/swaps/part.ts'
import { matchExactly } from '../support/match-exactly.ts'
import {
  ALICE,
  BOB,
  CAROL,
  COLLECTION,
  ETH,
  EXCHANGE,
  factsOf,
  judgedCall,
  judgedOf,
  KEY,
  MALLORY,
  openingData,
  shown,
  UNKNOWN,
  USDC,
  WALLET,
} from '../support/policies.ts'

const ABI = new Interface([
  'function transfer(address,uint256)',
  'function transferFrom(address,address,uint256)',
  'function safeTransferFrom(address,address,uint256)',
  'function safeBatchTransferFrom(address,address,uint256[],uint256[],bytes)',
  'function approve(address,uint256)',
  'function increaseAllowance(address,uint256)',
  'function setApprovalForAll(address,bool)',
  'function permit(address,address,uint256,uint256,uint8,bytes32,bytes32)',
  'function authorizeOperator(address)',
  'function setOperator(address,bool)',
])
t.test('every opening is described by a capability; one that is not can do anything', async (t) => {
  t.strictSame(Object.keys(JUDGED_KINDS).sort(), Object.keys(OPENINGS).sort())
  const { SwapRequested: _, ...others } = JUDGED_KINDS
  const opening = { type: 'SwapRequested', data: openingData() } as const
  const judged = judgedTransaction(others, opening, factsOf())
  t.match(judged.intents[0], { buys: ANY, slippageBps: 10_000 })
  t.strictSame(shown(judged), ['batch+swap+contract_call+nft_mint+transfer+approve+nft_transfer * * * * * *'])
})

const [MAX, WORD32] = [(1n << 256n) - 1n, `0x${'11'.repeat(32)}`]
const TOKEN = USDC.contract ?? ''
const encode = (name: string, args: readonly unknown[]) => ABI.encodeFunctionData(name, args)
const send = (to: string, amount: bigint) => encode('transfer', [to, amount])

t.test('transfers, batches, swaps and their allowances', (t) => {
  const batch = { subject: { type: 'transfer_batch', id: 'batch_1' } }
  t.strictSame(shown(judgedOf('TransferRequested')), ['transfer alice - usdc 0xa9059cbb 1/usdc 1000000'])
  t.strictSame(shown(judgedOf('TransferRequested', { asset: ETH, amount: 5n, ...batch })), [
    'transfer+batch alice - - - 1/native 5',
  ])
  const swap: SwapIntent = {
    amountType: 'exact_input',
    toAsset: ETH,
    fromAmount: '7',
    toAmount: '100',
    limit: '99',
    wrapped: null,
    approvalTransactionId: null,
  }
  const swapping = judgedOf('SwapRequested', { to: EXCHANGE, data: '0x5ae401dc00', amount: 7n, swap })
  t.strictSame(shown(swapping), ['swap - - exchange 0x5ae401dc 1/usdc 7'])
  t.match(swapping.intents[0], { buys: '1/native', slippageBps: 100 })
  t.strictSame(shown(judgedOf('SwapRequested', { to: EXCHANGE, data: '0x5ae401dc' })), [
    `swap+transfer+approve+nft_transfer ${ANY} ${ANY} ${ANY} ${ANY} ${ANY} ${ANY}`,
  ])
  const allowance = (spender: string) =>
    judgedOf('TokenApprovalRequested', { to: TOKEN, data: encode('approve', [spender, 7n]), asset: ETH, amount: 0n })
  t.strictSame(shown(allowance(EXCHANGE)), ['swap - exchange usdc 0x095ea7b3 - -'], 'judged as the swap')
  t.strictSame(
    shown(allowance(MALLORY)),
    ['swap+approve * mallory usdc 0x095ea7b3 1/usdc 7'],
    'for anybody else it is none',
  )
  t.strictSame(
    shown(judgedOf('TokenApprovalRequested', { to: TOKEN, data: send(MALLORY, 7n), asset: ETH, amount: 0n })),
    ['swap+transfer mallory - usdc 0xa9059cbb 1/usdc 7'],
    'a transfer under this name is a transfer',
  )
  matchExactly(
    t,
    shown(
      judgedOf('TokenApprovalRequested', {
        to: TOKEN,
        data: encode('approve', [EXCHANGE, MAX]),
        asset: ETH,
        amount: 0n,
      }),
    ),
    ['swap+approve * exchange usdc 0x095ea7b3 1/usdc *'],
    'no swap needs an allowance without a bound',
  )
  matchExactly(
    t,
    shown(judgedOf('TransferRequested', { to: TOKEN, data: send(MALLORY, 7n), asset: ETH, amount: 0n })),
    ['transfer mallory - usdc 0xa9059cbb 1/usdc 7'],
  )
  const fill = { to: WALLET, asset: ETH, amount: 0n }
  t.strictSame(judgedOf('NonceFillRequested', fill), {
    ...judgedOf('NonceFillRequested', fill),
    intents: [],
    fee: null,
  })
  t.match(shown(judgedOf('NonceFillRequested', { ...fill, amount: 1n }))[0], /^contract_call\+transfer/)
  t.match(judgedOf('TransferRequested').fee, { key: '1/native', amount: 65_000n * 10n ** 9n, price: { usd: '2000.5' } })
  t.match(judgedOf('TransferRequested', {}, { actor: 'operator' }), { apiKey: null })
  matchExactly(t, judgedOf('TransferRequested', { to: CAROL }), { apiKey: KEY, intents: [{ isToOwnWallet: true }] })
  t.end()
})

t.test('NFTs: mints, transfers, and calls that the service makes for its collections', (t) => {
  const digest = WORD32
  const mint = (data: string) => shown(judgedOf('MintRequested', { to: COLLECTION, data, asset: ETH, amount: 0n }))
  matchExactly(t, mint(encodeMint('ERC721', 1n, { recipient: ALICE, amount: 1n, digest })), [
    /^nft_mint alice - collection 0x\w{8} - -$/,
  ])
  const tokens = [ALICE, BOB, ALICE].map((recipient) => ({ recipient, amount: 2n, digest }))
  matchExactly(t, mint(encodeMintBatch('ERC1155', 1n, tokens)), [/^nft_mint alice/, /^nft_mint bob/])
  matchExactly(t, mint('0x12345678'), [/^nft_mint \* /], 'what is not read may be for anybody')
  const move = (to: string, data: string) =>
    shown(judgedOf('NftTransferRequested', { to, data, asset: ETH, amount: 0n }))
  const plain = encode('transferFrom', [WALLET, BOB, 77n])
  t.strictSame(move(COLLECTION, plain), ['nft_transfer bob - collection 0x23b872dd 1/collection 1'])
  t.strictSame(move(COLLECTION, encode('safeBatchTransferFrom', [WALLET, BOB, [1n, 2n], [3n, 4n], '0x'])), [
    'nft_transfer bob - collection 0x2eb2c2d6 1/collection 7',
  ])
  t.strictSame(
    move(TOKEN, plain),
    ['nft_transfer+transfer bob - usdc 0x23b872dd 1/usdc 77'],
    'of a token it is a transfer',
  )
  for (const type of ['CollectionDeployRequested', 'TokenUpdateRequested', 'VoucherRevocationRequested'] as const)
    matchExactly(t, shown(judgedOf(type, { to: COLLECTION, data: '0x12345678' })), [
      /^contract_call - - collection 0x12345678 - -$/,
    ])
  t.end()
})

t.test('calls are what their data moves and allows', (t) => {
  const call = (to: string, data: string, parts = {}) => shown(judgedCall(to, data, parts))
  const cases: readonly (readonly [string, string, readonly string[]])[] = [
    [TOKEN, send(BOB, 5n), ['contract_call+transfer bob - usdc 0xa9059cbb 1/usdc 5']],
    [TOKEN, encode('transferFrom', [CAROL, BOB, 5n]), ['contract_call+transfer bob - usdc 0x23b872dd 1/usdc 5']],
    [
      UNKNOWN,
      encode('transferFrom', [WALLET, BOB, 5n]),
      ['contract_call+transfer+nft_transfer bob - unknown 0x23b872dd 1/unknown 5'],
    ],
    [
      COLLECTION,
      encode('safeTransferFrom', [WALLET, BOB, 5n]),
      ['contract_call+nft_transfer bob - collection 0x42842e0e 1/collection 1'],
    ],
    [TOKEN, encode('approve', [BOB, 5n]), ['contract_call+approve * bob usdc 0x095ea7b3 1/usdc 5']],
    [TOKEN, encode('approve', [BOB, MAX]), ['contract_call+approve * bob usdc 0x095ea7b3 1/usdc *']],
    [TOKEN, encode('approve', [BOB, 0n]), ['contract_call+approve - - usdc 0x095ea7b3 - -']],
    [UNKNOWN, encode('approve', [BOB, 0n]), ['contract_call+approve * bob unknown 0x095ea7b3 1/unknown 1']],
    [COLLECTION, encode('approve', [BOB, 0n]), ['contract_call+approve * bob collection 0x095ea7b3 1/collection 1']],
    [TOKEN, encode('increaseAllowance', [BOB, 5n]), ['contract_call+approve * bob usdc 0x39509351 1/usdc 5']],
    [
      COLLECTION,
      encode('setApprovalForAll', [BOB, true]),
      ['contract_call+approve * bob collection 0xa22cb465 1/collection *'],
    ],
    [COLLECTION, encode('setApprovalForAll', [BOB, false]), ['contract_call+approve - - collection 0xa22cb465 - -']],
    [
      TOKEN,
      encode('permit', [WALLET, BOB, 5n, 1n, 27, WORD32, WORD32]),
      ['contract_call+approve * bob usdc 0xd505accf 1/usdc 5'],
    ],
    [TOKEN, encode('authorizeOperator', [BOB]), ['contract_call+approve * bob usdc 0x959b8c3f 1/usdc *']],
    [TOKEN, encode('setOperator', [BOB, true]), ['contract_call+approve * bob usdc 0x558a7297 1/usdc *']],
    [TOKEN, encode('setOperator', [BOB, false]), ['contract_call+approve - - usdc 0x558a7297 - -']],
    [UNKNOWN, '0x', ['contract_call+transfer+approve+nft_transfer * * unknown * * *']],
    [UNKNOWN, '0x12345678', ['contract_call * - unknown 0x12345678 - -']],
    [UNKNOWN, '0x1234', [`contract_call+transfer+approve+nft_transfer * * unknown * * *`]],
  ]
  for (const [to, data, expected] of cases) t.strictSame(call(to, data), expected, data.slice(0, 10))
  t.strictSame(call(UNKNOWN, '0x12345678', { amount: 9n }), ['contract_call * - unknown 0x12345678 1/native 9'])
  t.strictSame(call(TOKEN, send(BOB, 5n), { amount: 9n }), [
    'contract_call usdc - usdc 0xa9059cbb 1/native 9',
    'contract_call+transfer bob - usdc 0xa9059cbb 1/usdc 5',
  ])
  const isUnrehearsed = true
  t.strictSame(call(UNKNOWN, '0x12345678', { isUnrehearsed }), ['contract_call * - unknown 0x12345678 * *'])
  t.strictSame(call(TOKEN, send(BOB, 5n), { isUnrehearsed }), ['contract_call+transfer bob - usdc 0xa9059cbb 1/usdc 5'])
  const outflows = [{ asset: USDC, amount: 8n }]
  t.strictSame(call(UNKNOWN, '0x12345678', { outflows }), [
    'contract_call * - unknown 0x12345678 - -',
    'contract_call * - unknown 0x12345678 1/usdc 8',
  ])
  t.strictSame(
    call(TOKEN, send(BOB, 5n), { outflows }).at(1),
    'contract_call * - usdc 0xa9059cbb 1/usdc 3',
    'what is told counts once',
  )
  const both = { amount: 9n, outflows: [{ asset: ETH, amount: 4n }] }
  t.strictSame(
    call(UNKNOWN, '0x12345678', both),
    ['contract_call * - unknown 0x12345678 1/native 9', 'contract_call * - unknown 0x12345678 1/native 4'],
    'the native currency is taken besides the value',
  )
  const delegated = shown(judgedCall(UNKNOWN, '0x12345678', { authorizationList: [{ address: MALLORY }] }))
  t.match(
    delegated[1],
    /^contract_call\+transfer\+approve\+nft_transfer \* \*/,
    'EIP-7702: the code of another acts as the wallet',
  )
  t.end()
})

t.test('of an unknown contract, 0 may be the id of an NFT', (t) => {
  const call = (data: string) => shown(judgedCall(UNKNOWN, data))
  t.strictSame(call(encode('transferFrom', [WALLET, BOB, 0n])), [
    'contract_call+transfer+nft_transfer bob - unknown 0x23b872dd 1/unknown 1',
  ])
  t.strictSame(call(send(BOB, 0n)), ['contract_call+transfer bob - unknown 0xa9059cbb 1/unknown 1'])
  t.end()
})

t.test('a message moves nothing, an exported key everything, and an API key is of no wallet', (t) => {
  const message = (bytes: number) =>
    shown(judgedSignature({ ...openingData(), message: `0x${'61'.repeat(bytes)}` }, factsOf()))
  for (const bytes of [0, 31, 33, 64]) t.strictSame(message(bytes), ['sign_message - - - - - -'])
  t.strictSame(
    message(32),
    ['sign_message+transfer+approve+nft_transfer * * * * * *'],
    'the hash of an operation: an account takes the signed message as the consent to it',
  )
  t.strictSame(shown(judgedExport(openingData(), factsOf())), ['export * * - - * *'])
  matchExactly(t, judgedKeyChange(openingData(), factsOf()), {
    walletId: null,
    network: null,
    tags: [],
    intents: [{ actions: ['api_key_change'] }],
  })
  t.end()
})
