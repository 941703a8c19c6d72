internal import JSON
internal import Records

// These services are at the public database's address, whichever database asks, and need a web auth token.

extension DatabaseClient {
    /// Tells the shares that links lead to, any number of them (`records/resolve`).
    /// - Parameters:
    ///   - shortGUIDs: the last parts of the links' paths.
    ///   - fetchesRoots: true to get the records at the top too.
    /// - Returns: a share or an error per link, in their order.
    public func resolveShares(_ shortGUIDs: [String], fetchesRoots: Bool = true) async throws -> [Result<ReceivedShareMetadata, ServerError>] {
        try await follow(shortGUIDs, fetchesRoots, "records/resolve", .reads)
    }

    /// Lets the user take part in the shares that links lead to, any number of them (`records/accept`). Their zones are in the shared database
    /// then. A second acceptance changes nothing, so a lost answer is asked for again.
    /// - Parameters: as for ``resolveShares(_:fetchesRoots:)``.
    /// - Returns: a share or an error per link, in their order.
    public func acceptShares(_ shortGUIDs: [String], fetchesRoots: Bool = true) async throws -> [Result<ReceivedShareMetadata, ServerError>] {
        try await follow(shortGUIDs, fetchesRoots, "records/accept", .savesRepeatably)
    }

    private func follow(
        _ shortGUIDs: [String], _ fetchesRoots: Bool, _ action: String, _ effect: ServiceCall.Effect
    ) async throws -> [Result<ReceivedShareMetadata, ServerError>] {
        try await inParts(shortGUIDs) { part in
            let call = try ServiceCall(action, under: container.database(.public).root, effect, items: "results") { (writer) throws(CloudKitFailure) in
                try writer.member("shortGUIDs", part) { writer, shortGUID in
                    writer.member("value", shortGUID)
                    writer.member("shouldFetchRootRecord", fetchesRoots)
                }
            }
            return try await send(call) { answer in
                try zip(answer.objects("results", count: part.count), part).map { object, shortGUID in
                    try object.result { try ReceivedShareMetadata($0, of: shortGUID) }
                }
            }
        }
    }
}
