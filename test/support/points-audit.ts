/** Compares every request of a stage with the chain, and verifies the log. */
import { auditChain } from './chain-audit.ts'
import { readChain } from './chain-audit-scan.ts'
import { auditLog } from './log-audit.ts'
import type { PointsStage } from './points-stage.ts'

/** All problems, as text. Call when nothing is in progress. */
export async function auditStage(stage: PointsStage): Promise<string[]> {
  const { service, url, wallets, issuer, trader, answers, webhook } = stage
  const traded = await trader.audit()
  const { problems } = await auditChain({
    places: service.places,
    wallets: [...wallets, trader.wallet],
    answers,
    others: traded.hashes,
  })
  const sent = (await readChain(url, [issuer.address])).map(({ nonce }) => nonce).sort((a, b) => a - b)
  const hasGap = sent.some((nonce, index) => nonce !== index)
  const log = await auditLog(service.places.database_url)
  return [
    ...problems,
    ...traded.problems,
    ...(hasGap ? [`the nonces of the issuer have a gap or a double: ${sent.join(' ')}`] : []),
    ...log.problems,
    ...(webhook?.audit() ?? []),
  ]
}
