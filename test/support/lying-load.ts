/** What is requested of a service on lying nodes, and whether it was paid once by the honest chain. */
import { randomBytes } from 'node:crypto'
import { toQuantity } from '../../src/chain/hex.ts'
import { auditChain } from './chain-audit.ts'
import { readChain } from './chain-audit-scan.ts'
import { accepted } from './client.ts'
import type { Held } from './honest-blocks.ts'
import { createWallet, type LoadWallet } from './load.ts'
import type { PointsStage } from './points-stage.ts'

export type Requests = {
  readonly points: PointsStage
  readonly wallets: LoadWallet[]
  readonly holdings: Held[]
  /** A wallet all of whose payments are the same. */
  readonly equal: LoadWallet
  readonly accepted: { equal: number }
}

/** An unlocked account of the node. */
const STRANGER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const EQUAL_AMOUNT = '0.001'
const DEPOSIT_WEI = 10n ** 15n

/** Requests payments of many kinds. A refusal is an outcome. */
export async function play(parts: Requests, isFull: boolean): Promise<{ readonly refused: number }> {
  const { points, equal } = parts
  const { trader, wallets, send } = points
  const [first, second] = wallets as [LoadWallet, LoadWallet]
  const pay = async () => {
    const body = { to: STRANGER, amount: EQUAL_AMOUNT, asset: 'ETH' }
    const path = `/v1/wallets/${equal.id}/transfer`
    accepted(await points.api.send(path, body))
    parts.accepted.equal += 1
  }
  const requests = [
    () => send(first, 'native'),
    () => send(first, 'native'),
    () => send(second, 'native'),
    () => send(second, 'USDC'),
    pay,
    pay,
    () => trader.trade('call'),
    () => deposit(parts),
    ...(isFull ? [() => trader.trade('sell', { quoted: true }), () => trader.trade('buy'), () => mint(points)] : []),
  ]
  const made = await Promise.allSettled(requests.map((request) => request()))
  return { refused: made.filter(({ status }) => status === 'rejected').length }
}

/** Pays to a wallet of the service, and to one that is made meanwhile. */
async function deposit({ points, wallets, holdings, equal }: Requests): Promise<void> {
  const fresh = await createWallet(points.api, 'ethereum', randomBytes(8).toString('hex'))
  wallets.push(fresh)
  holdings.push({ address: fresh.address, token: null })
  for (const to of [fresh.address, equal.address])
    await points.rpc('eth_sendTransaction', { from: STRANGER, to, value: toQuantity(DEPOSIT_WEI) })
}

async function mint({ api, collectionId }: PointsStage): Promise<void> {
  const body = { collection_id: collectionId, recipient: STRANGER, metadata: { name: 'Token' } }
  accepted(await api.send('/v1/nft/mint', body))
}

/** Call when nothing is in progress. */
export async function judgePaid({ points, equal, accepted }: Requests): Promise<string[]> {
  const { service, url, wallets, trader, answers } = points
  const traded = await trader.audit()
  const { problems, ended } = await auditChain({
    places: service.places,
    wallets: [...wallets, trader.wallet],
    answers,
    others: traded.hashes,
  })
  const equals = await readChain(url, [equal.address])
  return [
    ...problems,
    ...traded.problems,
    ...(ended > 0 ? [`${ended} transfers ended without a payment`] : []),
    ...(equals.length === accepted.equal ? [] : [`${equals.length} of ${accepted.equal} equal payments are on chain`]),
    ...equals.filter(({ nonce }, i) => nonce !== i).map(({ hash }) => `${hash} leaves a gap`),
  ]
}
