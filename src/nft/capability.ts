/** What NFTs do: collections, mints, updates of tokens, transfers and owners. */
import type { Capability } from '../capability.ts'
import { anyAggregate } from '../event-log/fold.ts'
import { collectionAggregate } from './collections/aggregate.ts'
import type { CollectionRequested } from './collections/events.ts'
import { knownCollections } from './collections/known-collections.ts'
import { explainedCollection, explainedMint, explainedNftTransfer } from './explained.ts'
import { nftIntents } from './intents.ts'
import { managedContracts } from './managed-contracts.ts'
import { repinTask } from './metadata/repin-task.ts'
import { nftKinds } from './opening-rules.ts'
import { ownershipAggregate } from './ownership/aggregate.ts'
import { observeOwnership, unwindOwnership } from './ownership/observe-ownership.ts'
import { UNSIGNED_OF_TENANT } from './sql.ts'
import { coverVoucher } from './tokens/cover-voucher.ts'
import { createEarlierUses } from './tokens/earlier-uses.ts'
import { voucherWork } from './tokens/jobs.ts'
import { mintAggregate } from './tokens/mint-aggregate.ts'
import type { MintRecorded, VoucherRequested } from './tokens/mint-events.ts'
import { observeUses, unwindUses } from './tokens/observe-uses.ts'
import { signVoucher, voucherProblem } from './tokens/sign-voucher.ts'
import { tokenAggregate } from './tokens/token-aggregate.ts'
import { nftTransferAggregate } from './transfers/aggregate.ts'

export const nft: Capability = {
  aggregates: [
    anyAggregate(collectionAggregate),
    anyAggregate(mintAggregate),
    anyAggregate(nftTransferAggregate),
    anyAggregate(ownershipAggregate),
    anyAggregate(tokenAggregate),
  ],
  kinds: nftKinds,
  place: 100,
  routes: async () => (await import('./routes.ts')).nftApi,
  judges: nftIntents,
  manages: managedContracts,
  collections: knownCollections,
  async publishes() {
    const { publishedCollections } = await import('./collections/published.ts')
    const { publishedMints } = await import('./tokens/published.ts')
    const { publishedNftTransfers } = await import('./transfers/published.ts')
    return [...publishedCollections, ...publishedMints, ...publishedNftTransfers]
  },
  forOperators: () => import('./for-operators.ts'),
  explains: [explainedCollection, explainedMint, explainedNftTransfer],
  past: {
    standing: {
      CollectionRequested: ({ chainId, contractAddress: contract }: CollectionRequested['data']) => [
        { is: 'collection', chainId, contract },
      ],
    },
    passing: {
      MintRecorded: ({ mintingType, tokens }: MintRecorded['data'], id) =>
        mintingType === 'LAZY' ? [{ is: 'minting', id, recipient: tokens[0]?.recipient ?? null }] : [],
      VoucherRequested: ({ walletId, chainId, contract, requestedAt }: VoucherRequested['data']) => [
        { is: 'voucher', walletId, chainId, contract, requestedAt },
      ],
    },
  },
  work: [voucherWork],
  covers: { voucher: coverVoucher },
  // The IPFS node of this installation has not been asked for these contents yet.
  afterImport: (nameOf) =>
    `INSERT INTO ${nameOf('nft_pins')} (cid, due_at) SELECT cid, now() FROM ${nameOf('nft_metadata')} ON CONFLICT DO NOTHING`,
  tasks: [repinTask],
  usage: { ceremonies: UNSIGNED_OF_TENANT },
  jobs: [
    {
      queue: 'voucher',
      process: 'signer',
      seesSeeds: false,
      concurrency: 8,
      mpcConcurrency: 12,
      handle: ({ problemOf, ...needs }) => {
        const problems = { voucher: problemOf('mint_id', voucherProblem) }
        return ({ mint_id }) => signVoucher({ ...needs, problems }, mint_id ?? '')
      },
    },
  ],
  observe(needs, chainId) {
    const earlierUses = createEarlierUses(needs, chainId)
    return {
      async observe(blocks) {
        const observing = [observeOwnership(needs, chainId, blocks), observeUses(needs, chainId, blocks), earlierUses()]
        return { decisions: (await Promise.all(observing)).flat() }
      },
      async unwind(ancestor) {
        const unwinding = [unwindOwnership(needs, chainId, ancestor), unwindUses(needs, chainId, ancestor)]
        return (await Promise.all(unwinding)).flat()
      },
    }
  },
}
