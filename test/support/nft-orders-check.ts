/** What the contracts of collections say at the newest block, and where the service says something else. */
import { COLLECTION_ABI } from '../../src/nft/contracts/artefact.ts'
import type { TokenStandard } from '../../src/nft/contracts/collection.ts'
import type { NftStage, StagedCollection } from './nft-stage.ts'
import { eventually } from './sandbox-eventually.ts'

export type OrderedCollection = StagedCollection & { readonly standard: TokenStandard; readonly maxSupply: number }

/** A mint that was accepted. */
export type OrderedMint = {
  readonly id: string
  readonly collection: OrderedCollection
  readonly isLazy: boolean
  /** Whom the newest accepted request names as the recipient of a token. */
  readonly wanted: Map<string, string | null>
}

/** What became of a token id on chain. `by`: the transaction. */
type Use = { readonly as: 'minted' | 'revoked'; readonly to: string | null; readonly by: string }
type Log = { readonly topics: string[]; readonly data: string; readonly transactionHash: string }
// biome-ignore lint/suspicious/noExplicitAny: each caller knows the resource that it asked for.
type Data = Readonly<Record<string, any>>

const NOBODY = `0x${'00'.repeat(20)}`
/** Events are read when no append that began before them is open. */
const EVENTS_WITHIN_MS = 10_000

/** Waits until the follower has processed the newest block. */
export async function untilFollowed({ service, rpc }: Pick<NftStage, 'service' | 'rpc'>): Promise<void> {
  await eventually(async () => {
    const { hash } = (await rpc('eth_getBlockByNumber', 'latest', false)) as { hash: string }
    const { rows } = await service.pool.query<{ hash: string }>('SELECT hash FROM chain_cursors')
    return rows[0]?.hash === hash
  })
}

/** Every token of a collection, newest first, as the list of tokens says it. */
export async function tokensOf({ ask }: Pick<NftStage, 'ask'>, { id }: StagedCollection): Promise<readonly Data[]> {
  return (await ask({ path: `/v1/nft/collections/${id}/tokens?limit=100` })).body.data.tokens
}

/** @returns where the service differs from the chain, in sentences; the follower has processed the newest block */
export async function differences(
  stage: NftStage,
  collection: OrderedCollection,
  { mints, holders }: { readonly mints: readonly OrderedMint[]; readonly holders: readonly string[] },
): Promise<string[]> {
  const of = mints.filter((mint) => mint.collection === collection)
  const ids = of.flatMap(({ wanted }) => [...wanted.keys()])
  const [uses, held, supply] = await Promise.all([
    usesOf(stage, collection),
    holdingsOf(stage, collection, ids, holders),
    call(stage, collection, 'remainingSupply', []),
  ])
  const [lines, tokens, views, told] = await Promise.all([
    stage.owners(collection),
    tokensOf(stage, collection),
    Promise.all(of.map(async ({ id }): Promise<Data> => (await stage.ask({ path: `/v1/nft/mints/${id}` })).body.data)),
    Promise.all(of.map((mint) => differencesOfEvents(stage, mint, uses))),
  ])
  const found = [...views.flatMap((view, n) => differencesOfMint(view, of[n] as OrderedMint, uses)), ...told.flat()]
  const expected = ids.flatMap((id) => (held.get(id) ?? []).map(([owner, amount]) => `${id} ${owner} ${amount}`))
  if (JSON.stringify(lines.toSorted()) !== JSON.stringify(expected.toSorted()))
    found.push(`held: ${expected.toSorted()}, and the service says ${lines.toSorted()}`)
  for (const { token_id, status, owner } of tokens.filter(({ status }) => status === 'MINTED')) {
    const [only, other] = held.get(token_id) ?? []
    const holder = only === undefined || other !== undefined ? null : only[0]
    if (owner !== holder) found.push(`token ${token_id} is ${status} with the owner ${owner}, and ${holder} holds it`)
  }
  const minted = tokens.filter(({ status }) => status === 'MINTED').length
  const released = collection.maxSupply - Number(supply)
  if (minted !== released) found.push(`the contract released ${released} ids, and ${minted} are MINTED`)
  return found.map((text) => `${collection.standard}: ${text}`)
}

function differencesOfMint(view: Data, { id, isLazy, wanted }: OrderedMint, uses: ReadonlyMap<string, Use>): string[] {
  return (view.tokens as Data[]).flatMap((token) => {
    const { token_id, status, owner, outcome, transaction_hash } = token
    const use = uses.get(token_id)
    const what = `token ${token_id} of ${id} is ${status}`
    if (!isPossible(status, use, isLazy)) return [`${what}, and on chain it is ${use?.as ?? 'unused'}`]
    if (use?.as !== 'minted') return outcome === null ? [] : [`${what} with the outcome ${outcome}`]
    const asked = wanted.get(token_id) === use.to ? 'AS_REQUESTED' : 'BY_HOLDER'
    return [
      ...(owner === use.to ? [] : [`${what} to ${owner}, and on chain to ${use.to}`]),
      ...(outcome === asked
        ? []
        : [`${what} ${outcome}, and on chain to ${use.to}, where ${wanted.get(token_id)} was named`]),
      ...(transaction_hash === use.by ? [] : [`${what} by ${transaction_hash}, and on chain by ${use.by}`]),
    ]
  })
}

function isPossible(status: string, use: Use | undefined, isLazy: boolean): boolean {
  if (use !== undefined) return status === (use.as === 'minted' ? 'MINTED' : 'REVOKED')
  return status === 'PENDING' || status === (isLazy ? 'LAZY' : 'FAILED')
}

/** What was told last of a mint is what the chain says, and each use is told once until it is undone. */
async function differencesOfEvents(
  { ask }: NftStage,
  { id, isLazy, wanted }: OrderedMint,
  uses: ReadonlyMap<string, Use>,
): Promise<string[]> {
  const use = uses.get([...wanted.keys()][0] ?? '')
  const deadline = Date.now() + EVENTS_WITHIN_MS
  for (;;) {
    const events = (await ask({ path: `/v1/events?resource=${id}&limit=100` })).body.data.events as Data[]
    const told = events.filter(({ type }) => /^nft\.mint\.(minted|revoked|reorged|failed)$/.test(type))
    const status = told.at(-1)?.data.status ?? (isLazy ? 'LAZY' : 'PENDING')
    const changes = told.filter(({ type }) => type !== 'nft.mint.failed').map(({ type }) => type === 'nft.mint.reorged')
    const isTwice = changes.some((isUndone, n) => !isUndone && changes[n - 1] === false)
    const owner = told.at(-1)?.data.tokens[0]?.owner
    const isOther = use?.as === 'minted' && owner !== use.to
    if (isPossible(status, use, isLazy) && !isTwice && !isOther) return []
    if (Date.now() > deadline) {
      const all = told.map(({ type, data }) => `${type} ${data.status} ${data.tokens[0]?.owner}`)
      return [`${id} was told as ${all.join(', ')}, and on chain it is ${use?.as ?? 'unused'} ${use?.to ?? ''}`]
    }
  }
}

/** By token id, from the logs of the contract. */
async function usesOf(stage: NftStage, { contract, standard }: OrderedCollection): Promise<ReadonlyMap<string, Use>> {
  const logs = (await stage.rpc('eth_getLogs', { address: contract, fromBlock: '0x0', toBlock: 'latest' })) as Log[]
  const uses = new Map<string, Use>()
  for (const { transactionHash: by, ...log } of logs) {
    const parsed = COLLECTION_ABI[standard].parseLog(log)
    const args = parsed?.args
    if (args === undefined) continue
    if (parsed?.name === 'VoucherRevoked') uses.set(String(args[0]), { as: 'revoked', to: null, by })
    const isMint = (args.from ?? null) === NOBODY
    if (!isMint) continue
    const ids: readonly bigint[] = parsed?.name === 'TransferBatch' ? args.ids : [args.tokenId ?? args.id]
    for (const tokenId of ids) uses.set(String(tokenId), { as: 'minted', to: args.to, by })
  }
  return uses
}

type Holdings = ReadonlyMap<string, readonly (readonly [owner: string, amount: string])[]>

/** By token id, from the state of the contract. */
async function holdingsOf(
  stage: NftStage,
  collection: OrderedCollection,
  ids: readonly string[],
  holders: readonly string[],
): Promise<Holdings> {
  const of = async (id: string): Promise<(readonly [string, string])[]> => {
    if (collection.standard === 'ERC721') {
      // Reverts for a token that does not exist.
      const owner = await call(stage, collection, 'ownerOf', [id]).catch(() => null)
      return owner === null ? [] : [[String(owner), '1']]
    }
    const amounts = await Promise.all(holders.map((holder) => call(stage, collection, 'balanceOf', [holder, id])))
    return holders.map((holder, n) => [holder, String(amounts[n])] as const).filter(([, amount]) => amount !== '0')
  }
  return new Map(await Promise.all(ids.map(async (id) => [id, await of(id)] as const)))
}

async function call(
  { rpc }: Pick<NftStage, 'rpc'>,
  { contract, standard }: OrderedCollection,
  name: string,
  values: readonly unknown[],
): Promise<unknown> {
  const abi = COLLECTION_ABI[standard]
  const result = await rpc('eth_call', { to: contract, data: abi.encodeFunctionData(name, [...values]) }, 'latest')
  return abi.decodeFunctionResult(name, String(result))[0]
}
