/** Holds everything that was ever asked for on a stage against the chain, and the log against itself. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import { ALL_AGGREGATES } from '../../src/compose/aggregates.ts'
import { compareShadow } from '../../src/event-log/compare-shadow.ts'
import { canonicalEvent, chainHash } from '../../src/event-log/hash-chain.ts'
import { readLog, replay } from '../../src/event-log/replay.ts'
import { auditChain } from './chain-audit.ts'
import { readChain } from './chain-audit-scan.ts'
import type { PointsStage } from './points-stage.ts'

/** A balance that was read at this moment is written a moment later. */
const SECOND_LOOK_MS = 500

/** Everything that is not as it must be, in words. To be called when nothing is under way. */
export async function auditStage(stage: PointsStage): Promise<string[]> {
  const { service, url, wallets, issuer, answers } = stage
  const { pool } = service
  const { problems } = await auditChain({ places: service.places, wallets, answers })
  const minted = (await readChain(url, [issuer.address])).map(({ nonce }) => nonce).sort((a, b) => a - b)
  const hasGap = minted.some((nonce, index) => nonce !== index)
  return [
    ...problems,
    ...(hasGap ? [`the nonces of the issuer have a gap or a double: ${minted.join(' ')}`] : []),
    ...(await differencesOf(pool)),
    ...(await brokenHashes(pool)),
  ]
}

/** Replay equals live. */
async function differencesOf(pool: Pool): Promise<string[]> {
  for (let looks = 1; ; looks += 1) {
    const { shadow } = await replay(pool, ALL_AGGREGATES)
    const differences = await compareShadow(pool, shadow)
    if (differences.length === 0) return []
    if (looks === 2) return differences.map((difference) => `replay and live differ: ${JSON.stringify(difference)}`)
    await sleep(SECOND_LOOK_MS)
  }
}

/** Streams have every version from 1 on, and each event's hash is that of what it says and of the one before it. */
export async function brokenHashes(pool: Pool): Promise<string[]> {
  const heads = new Map<string, { readonly version: number; readonly hash: string }>()
  const broken: string[] = []
  for await (const rows of readLog(pool)) {
    for (const row of rows) {
      const before = heads.get(row.stream_id) ?? { version: 0, hash: '' }
      const canonical = canonicalEvent({
        streamId: row.stream_id,
        streamVersion: row.stream_version,
        type: row.type,
        schemaVersion: row.schema_version,
        data: row.data,
        metadata: row.metadata,
        recordedAt: row.recorded_at.toISOString(),
      })
      const hash = row.hash.toString('hex')
      if (row.stream_version !== before.version + 1 || hash !== chainHash(before.hash, canonical))
        broken.push(`${row.stream_id} is broken at version ${row.stream_version}`)
      heads.set(row.stream_id, { version: row.stream_version, hash })
    }
  }
  return broken
}
