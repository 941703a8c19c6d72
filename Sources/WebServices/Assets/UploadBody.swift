internal import HTTPServing
internal import NIOCore
internal import Records

/// The bytes of an upload as they arrive. Converts errors of the connection to ``ConnectionLost``, so that they are not reported as server errors.
struct UploadBody<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable where Base.Element == ByteBuffer {
    let base: Base

    struct AsyncIterator: AsyncIteratorProtocol {
        var base: Base.AsyncIterator

        mutating func next() async throws -> ByteBuffer? {
            do {
                return try await base.next()
            } catch let refusal as Refusal {
                throw refusal
            } catch let error as CancellationError {
                throw error
            } catch {
                throw ConnectionLost(cause: error)
            }
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: base.makeAsyncIterator()) }
}
