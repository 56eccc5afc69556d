/** Pins one piece of content, and verifies that the node computes the CID that the chain will contain. */
import type { Context } from '../../context.ts'
import { Unavailable } from '../../core/errors.ts'
import { canonicalCid } from './cid.ts'
import type { Content } from './content.ts'
import { addToKubo } from './kubo.ts'

/** @throws Unavailable `ipfs_unavailable`; `ipfs_cid_mismatch` when the node computed another CID */
export type Pin = (content: Pick<Content, 'cid' | 'text'>, signal: AbortSignal) => Promise<void>

/** `null` without an IPFS node. */
export function pinOn({
  config: { ipfs },
  metrics,
}: {
  readonly config: Pick<Context['config'], 'ipfs'>
  readonly metrics: Pick<Context['metrics'], 'time'>
}): Pin | null {
  if (ipfs === null) return null
  return async ({ cid, text }, signal) => {
    const startedAt = performance.now()
    let outcome: 'pinned' | 'failed' = 'failed'
    try {
      const told = await addToKubo(ipfs, text, signal)
      if (canonicalCid(told) !== cid) throw mismatch(cid, told)
      outcome = 'pinned'
    } finally {
      metrics.time('bursar_ipfs_pin_duration_seconds', { outcome }, performance.now() - startedAt)
    }
  }
}

/** The node ignored the options of the request: the content would not be found under the token's CID. */
function mismatch(cid: string, told: string): Unavailable {
  const cause = new Error(`the node returned ${told.slice(0, 100)}, but the CID of the content is ${cid}`)
  const message =
    'The IPFS node returned a different CID than the CID of the metadata. The request had no effect: ask the operator to check the IPFS node.'
  return new Unavailable('ipfs_cid_mismatch', message, { cause })
}
