/** Pins one piece of content, and verifies that the node computes the CID that the chain will contain. */
import { Unavailable } from '../../core/errors.ts'
import { canonicalCid } from './cid.ts'
import type { Content } from './content.ts'
import type { IpfsNode } from './kubo.ts'

export type PinOutcome = 'pinned' | 'failed'
export type PinObserver = (pin: { readonly outcome: PinOutcome; readonly durationMs: number }) => void

/** @throws Unavailable `ipfs_unavailable`; `ipfs_cid_mismatch` when the node computed another CID */
export type Pin = (content: Pick<Content, 'cid' | 'text'>, signal: AbortSignal) => Promise<void>

export function createPin(node: IpfsNode, observe: PinObserver): Pin {
  return async ({ cid, text }, signal) => {
    const startedAt = performance.now()
    let outcome: PinOutcome = 'failed'
    try {
      const told = await node.add(text, signal)
      if (canonicalCid(told) !== cid) throw mismatch(cid, told)
      outcome = 'pinned'
    } finally {
      observe({ outcome, durationMs: performance.now() - startedAt })
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
