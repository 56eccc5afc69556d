/** The possible fates of an exchange with an unreliable node. */

export type RpcCall = { readonly id: number; readonly method: string; readonly params: readonly unknown[] }

/** What happens to one exchange, which may have several calls. */
export type Fate =
  | { readonly type: 'pass' }
  /** The node executes the calls; the response is lost. */
  | { readonly type: 'silence after' }
  | { readonly type: 'silence before' }
  | { readonly type: 'status'; readonly status: number }
  /** Half of the real response, then the connection ends. The node executed the calls. */
  | { readonly type: 'cut' }
  | { readonly type: 'refuse' }
  /** Calls of this method get this answer and never reach the node; the others pass. */
  | {
      readonly type: 'answer'
      readonly method: string
      readonly answer: Answer
      /** Only these of them. */
      readonly only?: (call: RpcCall) => boolean
    }
  /** The same answer, although the node executed the calls. */
  | { readonly type: 'answer after'; readonly method: string; readonly answer: Answer }
  /** The calls reach the node only then. */
  | { readonly type: 'held'; readonly until: Promise<unknown> }
  /** The real answers, this much later. */
  | { readonly type: 'late'; readonly ms: number }
  /** Answered like a replica that is this many blocks behind the head. */
  | { readonly type: 'behind'; readonly blocks: number }

export type Answer =
  | { readonly result: unknown }
  | { readonly error: { readonly code: number; readonly message: string } }

export type Message = Record<string, unknown>
