public import Records

/// An upload or a download started after its ticket expired. The HTTP status is 410.
public struct AssetTicketExpired: Error, Sendable, Hashable, CustomStringConvertible {
    /// The error for the client, with a remedy.
    public let error: RecordError

    public var description: String { error.description }

    static let upload = AssetTicketExpired(
        error: RecordError(.badRequest, "The upload URL has expired: it is valid for 15 minutes. Get a new one with assets/upload"))
    static let download = AssetTicketExpired(
        error: RecordError(.badRequest, "The download URL has expired. Fetch the record again to get a new one"))
}
