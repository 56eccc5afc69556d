/** Holds everything that was ever asked for on a stage against the chain, and the log against itself. */
import { auditChain } from './chain-audit.ts'
import { readChain } from './chain-audit-scan.ts'
import { judgeLog } from './log-audit.ts'
import type { PointsStage } from './points-stage.ts'

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
    ...(await judgeLog(pool)).problems,
  ]
}
