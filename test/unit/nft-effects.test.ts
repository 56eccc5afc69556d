/** What an NFT transaction did, from the logs of its receipt. */
import t from 'tap'
import { addressWord, uintWord } from '../../src/chain/hex.ts'
import { COLLECTION_ABI, FACTORY_ABI } from '../../src/nft/contracts/artefact.ts'
import { collectionSalt, deployCollection, deployFactory, FACTORY_ADDRESS } from '../../src/nft/contracts/collection.ts'
import {
  encodeErc721Transfer,
  encodeMint,
  encodeMintBatch,
  encodeRevoke,
  encodeSafeBatchTransfer,
  encodeSafeTransfer,
  encodeSetTokenDigest,
} from '../../src/nft/contracts/encode-calls.ts'
import { nftEffects } from '../../src/nft/effects.ts'
import { transactionDecider } from '../../src/transactions/decider.ts'
import { outcomeOf } from '../../src/transactions/dependency.ts'
import type { Inclusion } from '../../src/transactions/events.ts'
import type { Intent } from '../../src/transactions/intent.ts'
import { transferIntent } from '../support/log.ts'
import { collectionConfig } from '../support/nft-chain.ts'

const CONTRACT = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
const ALICE = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const BOB = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'
const NOBODY = `0x${'00'.repeat(20)}`
const DIGEST = `0x${'ab'.repeat(32)}`

const intentOf = (data: string, to = CONTRACT): Intent => transferIntent({ from: ALICE, to, data })
const logOf = (standard: 'ERC721' | 'ERC1155', name: string, values: unknown[], address = CONTRACT) => {
  const { topics, data } = COLLECTION_ABI[standard].encodeEventLog(name, values)
  return { address: address.toLowerCase(), topics, data, logIndex: 0 }
}
const one = { amount: 1n, digest: DIGEST }

t.test('a mint is shown by its contract, with its id and its recipient', async (t) => {
  const mint = intentOf(encodeMint('ERC721', 7n, { ...one, recipient: BOB }))
  const shown = (...logs: ReturnType<typeof logOf>[]) => nftEffects.MintRequested(mint, logs)
  t.ok(shown(logOf('ERC721', 'Transfer', [NOBODY, BOB, 7n])))
  t.notOk(shown(), 'an address without code')
  t.notOk(shown(logOf('ERC721', 'Transfer', [NOBODY, BOB, 8n])), 'another id')
  t.notOk(shown(logOf('ERC721', 'Transfer', [NOBODY, ALICE, 7n])), 'another recipient')
  t.notOk(shown(logOf('ERC721', 'Transfer', [ALICE, BOB, 7n])), 'a transfer')
  t.notOk(shown(logOf('ERC721', 'Transfer', [NOBODY, BOB, 7n], BOB)), 'another contract')
  const batch = intentOf(
    encodeMintBatch('ERC1155', 1n, [
      { ...one, recipient: ALICE },
      { ...one, recipient: BOB },
    ]),
  )
  const units = (to: string, id: bigint) => logOf('ERC1155', 'TransferSingle', [ALICE, NOBODY, to, id, 1n])
  t.ok(nftEffects.MintRequested(batch, [units(ALICE, 1n), units(BOB, 2n)]))
  t.notOk(nftEffects.MintRequested(batch, [units(ALICE, 1n)]), 'one of two tokens')
  const voucher = [5n, BOB, 1n, DIGEST, 0n]
  const redeem = intentOf(COLLECTION_ABI.ERC721.encodeFunctionData('redeem', [voucher, '0x', BOB]))
  t.ok(nftEffects.MintRequested(redeem, [logOf('ERC721', 'Transfer', [NOBODY, BOB, 5n])]))
})

t.test(
  'call data without the arguments of its function shows nothing, and stops nobody who reads a block',
  async (t) => {
    const mint = encodeMint('ERC721', 7n, { ...one, recipient: BOB })
    const move = encodeErc721Transfer({ from: ALICE, to: BOB, tokenId: 3n, amount: 1n })
    const { selector } = COLLECTION_ABI.ERC721.getFunction('redeem') ?? { selector: '' }
    const damaged = (data: string) => [
      data.slice(0, 10),
      data.slice(0, 74),
      `${data.slice(0, 10)}${'ff'.repeat(96)}`,
      `${data}f`,
    ]
    for (const data of [...damaged(mint), selector, `${selector}${'ff'.repeat(96)}`])
      t.equal(nftEffects.MintRequested(intentOf(data), []), false, data)
    for (const data of damaged(move)) t.equal(nftEffects.NftTransferRequested(intentOf(data), []), false, data)
  },
)

t.test('a transfer, a revocation, an update and a deployment are shown by their own logs', async (t) => {
  const move = { from: ALICE, to: BOB, tokenId: 3n, amount: 2n }
  const sent = (data: string, ...logs: ReturnType<typeof logOf>[]) =>
    nftEffects.NftTransferRequested(intentOf(data), logs)
  t.ok(sent(encodeErc721Transfer(move), logOf('ERC721', 'Transfer', [ALICE, BOB, 3n])))
  t.notOk(sent(encodeErc721Transfer(move), logOf('ERC721', 'Transfer', [BOB, ALICE, 3n])))
  t.ok(sent(encodeSafeTransfer('ERC1155', move), logOf('ERC1155', 'TransferSingle', [ALICE, ALICE, BOB, 3n, 2n])))
  const items = [move, { ...move, tokenId: 4n }]
  const both = logOf('ERC1155', 'TransferBatch', [ALICE, ALICE, BOB, [3n, 4n], [2n, 2n]])
  t.ok(sent(encodeSafeBatchTransfer(ALICE, BOB, items), both))
  t.notOk(sent(encodeSafeBatchTransfer(ALICE, BOB, items)))
  const revoke = intentOf(encodeRevoke(3n))
  t.ok(nftEffects.VoucherRevocationRequested(revoke, [logOf('ERC721', 'VoucherRevoked', [3n])]))
  t.notOk(nftEffects.VoucherRevocationRequested(revoke, [logOf('ERC721', 'VoucherRevoked', [4n])]))
  const update = intentOf(encodeSetTokenDigest(3n, DIGEST))
  t.ok(nftEffects.TokenUpdateRequested(update, [logOf('ERC721', 'MetadataUpdate', [3n])]))
  t.notOk(nftEffects.TokenUpdateRequested(update, []))
  const { to, data } = deployCollection(collectionConfig(ALICE), collectionSalt('col_1'))
  const made = FACTORY_ABI.encodeEventLog('CollectionDeployed', [CONTRACT, ALICE, ALICE, 0, DIGEST])
  const log = { address: FACTORY_ADDRESS.toLowerCase(), ...made, logIndex: 0 }
  t.ok(nftEffects.CollectionDeployRequested(intentOf(data, to), [log]))
  t.notOk(nftEffects.CollectionDeployRequested(intentOf(data, to), []), 'a factory that a reorg removed')
  const factory = deployFactory()
  t.equal(
    nftEffects.CollectionDeployRequested(intentOf(factory.data, factory.to), []),
    null,
    'the factory logs nothing',
  )
  t.equal(`0x${addressWord(ALICE)}`.length, 2 + uintWord(0n).length)
})

t.test('a transaction without its effect is not a success, and fails once it is final', async (t) => {
  const NOW = '2026-11-21T12:00:00.000Z'
  const fees = { gasLimit: 21_000n, maxFeePerGas: 2n, maxPriorityFeePerGas: 1n }
  const inclusion: Inclusion = {
    ...{ hash: '0xaa', blockNumber: 7, blockHash: '0xb7', succeeded: true, effect: 'missing', logs: null },
    ...{ gasUsed: 21_000n, effectiveGasPrice: 1n, blockTimestamp: NOW, minedAt: NOW },
  }
  const commands = [
    { type: 'RequestTransaction', opening: 'MintRequested', intent: intentOf('0x01020304') },
    { type: 'RecordSignature', signed: { nonce: 0, hash: '0xaa', rawTransaction: '0x02', fees, signedAt: NOW } },
    { type: 'RecordInclusion', inclusion },
    { type: 'Settle', confirmations: 12, revertReason: '', now: NOW },
  ] as const
  let state = transactionDecider.initialState
  for (const command of commands) {
    for (const event of transactionDecider.decide(command, state)) state = transactionDecider.evolve(state, event)
    if (command.type === 'RecordInclusion') t.strictSame(outcomeOf('tx_1', state), { outcome: 'open' })
  }
  t.match(state, { state: 'reverted', failure: { code: 'no_effect', message: /had no code/ } })
  t.match(outcomeOf('tx_1', state), { outcome: 'failed' })
})
