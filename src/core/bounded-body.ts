/** The text of a response, read up to a limit, so that no server can fill the memory. */

/** @returns the first `maxBytes` bytes, or a few more; `cut` when there is more than that */
export async function readBounded(
  { body }: Pick<Response, 'body'>,
  maxBytes: number,
): Promise<{ readonly text: string; readonly cut: boolean }> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body ?? []) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > maxBytes) break
  }
  return { text: Buffer.concat(chunks).toString('utf8'), cut: bytes > maxBytes }
}
