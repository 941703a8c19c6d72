/// Moves a file, and tells its progress one value at a time. Values that come while one is told are replaced by the latest.
/// - Parameters:
///   - total: bytes of all files of the record.
///   - before: bytes of the files that were moved before.
///   - tell: takes numbers from 0 to 1.
///   - move: gets a function that takes the bytes of this file so far.
func withProgress<Value: Sendable>(
    of total: Int64, after before: Int64, _ tell: @escaping @Sendable (Double) async -> Void,
    _ move: (@escaping @Sendable (Int64) -> Void) async throws(OperationError) -> Value
) async throws(OperationError) -> Value {
    let (latest, continuation) = AsyncStream.makeStream(of: Int64.self, bufferingPolicy: .bufferingNewest(1))
    let telling = Task {
        for await bytes in latest { await tell(total > 0 ? min(Double(before + bytes) / Double(total), 1) : 1) }
    }
    let result: Result<Value, OperationError>
    do throws(OperationError) {
        result = .success(try await move { continuation.yield($0) })
    } catch {
        result = .failure(error)
    }
    continuation.finish()
    // Otherwise a value could come after the event that ends the record.
    await telling.value
    return try result.get()
}
