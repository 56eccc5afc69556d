/**
 * What the logs of an NFT transaction must show: the tokens that it mints or moves, with their ids and recipients, logged by
 * the expected contract. Pure.
 */
import { addressWord } from '../chain/hex.ts'
import { sameHex } from '../keys/coverage.ts'
import type { Intent } from '../transactions/intent.ts'
import type { EffectRule } from '../transactions/kind-rules.ts'
import { isDeployment } from './contracts/collection.ts'
import { COLLECTION_DEPLOYED_TOPIC, parseNftTransferLog, VOUCHER_REVOKED_TOPIC } from './contracts/logs.ts'
import { readMinted, readTransferred, type TokenTo } from './contracts/read-calls.ts'
import type { nft } from './declaration.ts'

type Log = { readonly address: string; readonly topics: readonly string[]; readonly data: string }
/** A token that a log shows as moved. Addresses are in lower case. */
type Moved = TokenTo & { readonly from: string }

const NOBODY = `0x${'00'.repeat(20)}`

export const nftEffects: Readonly<Record<keyof typeof nft.openings, EffectRule>> = {
  CollectionDeployRequested(intent, logs) {
    // Parts that are deployed before it log nothing that is theirs alone.
    if (!isDeployment(intent.data ?? '')) return null
    const deployer = `0x${addressWord(intent.from)}`
    return logsOf(intent, logs).some(
      ({ topics }) => sameHex(topics[0], COLLECTION_DEPLOYED_TOPIC) && sameHex(topics[3], deployer),
    )
  },
  MintRequested(intent, logs) {
    const minted = movedIn(intent, logs).filter(({ from }) => from === NOBODY)
    return shows(minted, readMinted(intent.data ?? ''))
  },
  NftTransferRequested(intent, logs) {
    const sent = movedIn(intent, logs).filter(({ from }) => sameHex(from, intent.from))
    return shows(sent, readTransferred(intent.data ?? ''))
  },
  TokenUpdateRequested: (intent, logs) => logsOf(intent, logs).length > 0,
  VoucherRevocationRequested(intent, logs) {
    const tokenId = (intent.data ?? '').slice(10, 74)
    return logsOf(intent, logs).some(
      ({ topics }) => sameHex(topics[0], VOUCHER_REVOKED_TOPIC) && sameHex(topics[1], `0x${tokenId}`),
    )
  },
}

function shows(moved: readonly TokenTo[], wanted: readonly TokenTo[]): boolean {
  const keyOf = ({ tokenId, to }: TokenTo) => `${tokenId} ${to}`
  const found = new Set(moved.map(keyOf))
  return wanted.length > 0 && wanted.every((token) => found.has(keyOf(token)))
}

function movedIn(intent: Intent, logs: readonly Log[]): Moved[] {
  return logsOf(intent, logs).flatMap((log) => {
    const moved = parseNftTransferLog(log)
    if (moved === null) return []
    const { from, to } = moved
    return moved.tokens.map(({ tokenId }) => ({ tokenId, from, to }))
  })
}

/** The logs of the called contract. */
function logsOf({ to }: Intent, logs: readonly Log[]): readonly Log[] {
  return logs.filter(({ address }) => sameHex(address, to))
}
