/** The gas of collection calls: each contract goes through the same steps and the gas of each is recorded. */
import { concat } from 'ethers/utils'
import { Wallet } from 'ethers/wallet'
import type { CollectionConfig, TokenStandard } from '../../src/nft/contracts/collection.ts'
import { encodeMintBatch, encodeSafeTransfer } from '../../src/nft/contracts/encode-calls.ts'
import { voucherTypedData } from '../../src/nft/contracts/voucher.ts'
import { digestOf, type NftChain, type Receipt, strangerOf } from './nft-chain.ts'
import { encodeRedeem } from './redeem-call.ts'
import { type CompiledContract, compileSolidity, contractIn } from './solidity.ts'

const BATCH = 100
/** As long as the URI of a CID. */
const URI = `ipfs://b${'a'.repeat(58)}`
/** The key of anvil's first account, which owns the collections. */
const OWNER_KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'

/** To a recipient without tokens of the collection, or with some; for a batch, per token. */
export const GAS_COLUMNS = [
  'deploy',
  'mintToNewHolder',
  'mintToHolder',
  'batchToHolder',
  'batchToNewHolders',
  'transfer',
  'redemptionByOwner',
  'redeem',
] as const

export type GasLife = Readonly<Record<(typeof GAS_COLUMNS)[number], number | null>>

export async function gasOfCollection(chain: NftChain, given: Partial<CollectionConfig>): Promise<GasLife> {
  const collection = await chain.collection(given)
  const { address, config, deployment } = collection
  const batch = async (firstId: number, recipients: readonly string[]) => {
    const tokens = recipients.map((recipient, i) => ({ recipient, amount: 1n, digest: digestOf(firstId + i) }))
    return used(
      await chain.send(chain.owner, { to: address, data: encodeMintBatch(config.standard, BigInt(firstId), tokens) }),
    )
  }
  const transfer = { from: chain.alice, to: strangerOf(1), tokenId: 1n, amount: 1n }
  return {
    deploy: used(deployment),
    mintToNewHolder: used(await collection.mint(1, chain.alice)),
    mintToHolder: used(await collection.mint(2, chain.alice)),
    batchToHolder: (await batch(101, Array<string>(BATCH).fill(chain.alice))) / BATCH,
    batchToNewHolders: (await batch(201, strangers(100))) / BATCH,
    transfer: used(await chain.send(chain.alice, { to: address, data: encodeSafeTransfer(config.standard, transfer) })),
    // The id of a voucher: the service redeems by a mint.
    redemptionByOwner: used(await collection.mint(399, strangerOf(2))),
    redeem: used(await redeem(chain, address)),
  }
}

/** A voucher without a recipient, redeemed by a holder of it that has no tokens. */
async function redeem(chain: NftChain, address: string): Promise<Receipt> {
  const voucher = { tokenId: 400n, recipient: null, amount: 1n, digest: digestOf(400), validUntil: 4_000_000_000 }
  const { domain, types, message } = voucherTypedData(chain.chainId, address, voucher)
  const signature = await new Wallet(OWNER_KEY).signTypedData(domain, types, message)
  return chain.send(chain.bob, { to: address, data: encodeRedeem(voucher, signature, chain.bob) })
}

/** OpenZeppelin's original contracts, for comparison. */
export async function gasOfBaselines(chain: NftChain): Promise<Readonly<Record<string, GasLife>>> {
  const compiled = compileSolidity('Baselines.sol')
  return {
    'OpenZeppelin ERC721, no metadata': await gasOfBaseline(chain, contractIn(compiled, 'PlainERC721'), 'ERC721', []),
    'OpenZeppelin ERC721URIStorage': await gasOfBaseline(
      chain,
      contractIn(compiled, 'PlainERC721URIStorage'),
      'ERC721',
      [URI],
    ),
    'OpenZeppelin ERC1155, no metadata': await gasOfBaseline(
      chain,
      contractIn(compiled, 'PlainERC1155'),
      'ERC1155',
      [1],
    ),
  }
}

/** @param extra arguments of a mint besides the recipient and the id; in a batch an array of that many */
async function gasOfBaseline(
  chain: NftChain,
  { abi, bytecode }: CompiledContract,
  standard: TokenStandard,
  extra: readonly unknown[],
): Promise<GasLife> {
  const deployment = await chain.send(chain.owner, { data: concat([bytecode, abi.encodeDeploy([])]) })
  const to = deployment.contractAddress ?? ''
  const call = async (method: string, values: readonly unknown[]) =>
    used(await chain.send(chain.owner, { to, data: abi.encodeFunctionData(method, values) }))
  const batch = (firstId: number, recipients: readonly string[]) =>
    call('mintBatch', [firstId, recipients, ...extra.map((value) => recipients.map(() => value))])
  const transfer = encodeSafeTransfer(standard, { from: chain.alice, to: strangerOf(1), tokenId: 1n, amount: 1n })
  return {
    deploy: used(deployment),
    mintToNewHolder: await call('mint', [chain.alice, 1, ...extra]),
    mintToHolder: await call('mint', [chain.alice, 2, ...extra]),
    batchToHolder: (await batch(101, Array<string>(BATCH).fill(chain.alice))) / BATCH,
    batchToNewHolders: (await batch(201, strangers(100))) / BATCH,
    transfer: used(await chain.send(chain.alice, { to, data: transfer })),
    redemptionByOwner: null,
    redeem: null,
  }
}

function strangers(first: number): string[] {
  return Array.from({ length: BATCH }, (_, i) => strangerOf(first + i))
}

function used({ ok, gasUsed }: Receipt): number {
  if (!ok) throw new Error('a transaction whose gas is measured was reverted')
  return gasUsed
}
