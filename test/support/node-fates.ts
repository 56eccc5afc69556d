/** What a node that lies may do with what it is asked. */

export type RpcCall = { readonly id: number; readonly method: string; readonly params: readonly unknown[] }

/** What happens to one exchange, which may hold several calls. */
export type Fate =
  | { readonly type: 'pass' }
  /** The node does what it was asked; nobody hears of it. */
  | { readonly type: 'silence after' }
  | { readonly type: 'silence before' }
  | { readonly type: 'status'; readonly status: number }
  /** Half of a true answer, then the end of the connection. The node did what it was asked. */
  | { readonly type: 'cut' }
  | { readonly type: 'refuse' }
  /** Calls of this method are answered so and never reach the node; the others pass. */
  | {
      readonly type: 'answer'
      readonly method: string
      readonly answer: Answer
      /** Of them, these alone. */
      readonly only?: (call: RpcCall) => boolean
    }
  /** The same words, though the node did what it was asked. */
  | { readonly type: 'answer after'; readonly method: string; readonly answer: Answer }
  /** Answered as a replica that stands so many blocks below the head. */
  | { readonly type: 'behind'; readonly blocks: number }

export type Answer =
  | { readonly result: unknown }
  | { readonly error: { readonly code: number; readonly message: string } }

export type Message = Record<string, unknown>
