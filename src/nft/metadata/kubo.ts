/**
 * The IPFS node, through Kubo's RPC API (https://docs.ipfs.tech/reference/kubo/rpc/). Any response without a CID is
 * `ipfs_unavailable`; the details are in the error's cause, for the operator's log.
 */
import { readBounded } from '../../core/bounded-body.ts'
import { Unavailable } from '../../core/errors.ts'
import { MAX_CONTENT_BYTES } from './content.ts'

/** All options that affect the CID are given explicitly, since a node may have other defaults. */
const ADD_OPTIONS = new URLSearchParams({
  'cid-version': '1',
  'raw-leaves': 'true',
  hash: 'sha2-256',
  chunker: `size-${MAX_CONTENT_BYTES}`,
  pin: 'true',
  progress: 'false',
})
/** A response contains one CID; of a longer error page the beginning is enough. */
const MAX_ANSWER_BYTES = 16 * 1_024
const MAX_CAUSE_LENGTH = 300

/**
 * Adds and pins content; content that the node already has is only pinned.
 *
 * @param node.url of the RPC API, such as `http://127.0.0.1:5001`; a path is used as a prefix
 * @param node.authorization value of the `Authorization` header, for a node behind a proxy that requires it
 * @param signal ends the wait
 * @returns the CID from the node, in the node's encoding
 * @throws Unavailable `ipfs_unavailable`
 */
export async function addToKubo(
  { url, authorization }: { readonly url: string; readonly authorization: string | null },
  text: string,
  signal: AbortSignal,
): Promise<string> {
  const form = new FormData()
  form.set('file', new Blob([text], { type: 'application/octet-stream' }), 'metadata.json')
  // As bytes: Node 24 fails a form that it sends when the request is aborted with an error that nobody can catch.
  const encoded = new Response(form)
  const body = await encoded.arrayBuffer()
  const type = encoded.headers.get('content-type') ?? ''
  const headers = { 'content-type': type, ...(authorization === null ? {} : { authorization }) }
  const target = `${url.replace(/\/+$/, '')}/api/v0/add?${ADD_OPTIONS}`
  try {
    // An API does not redirect; the content must not be sent elsewhere.
    const response = await fetch(target, { method: 'POST', body, headers, signal, redirect: 'error' })
    const { text: answer } = await readBounded(response, MAX_ANSWER_BYTES)
    return cidIn(answer, response.status)
  } catch (error) {
    throw unavailable(error, signal)
  }
}

/**
 * Kubo returns a line of JSON for each file. When it fails after its headers were sent, it closes the response without
 * one.
 */
function cidIn(answer: string, status: number): string {
  if (status !== 200) throw new Error(`HTTP ${status}: ${answer.slice(0, MAX_CAUSE_LENGTH)}`)
  const lines = answer.split('\n').filter((line) => line.trim() !== '')
  const cid = (JSON.parse(lines.at(-1) ?? 'null') as { readonly Hash?: unknown } | null)?.Hash
  if (typeof cid !== 'string') throw new Error(`no CID in the answer: ${answer.slice(0, MAX_CAUSE_LENGTH)}`)
  return cid
}

function unavailable(cause: unknown, signal: AbortSignal): Unavailable {
  const what = signal.aborted ? 'did not answer in time' : 'cannot store metadata now'
  return new Unavailable('ipfs_unavailable', `The IPFS node ${what}. The request had no effect: try again later.`, {
    cause,
  })
}
