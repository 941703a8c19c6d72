public import RecordStore
public import Records
internal import Synchronization

/// Creates upload and download addresses for the assets of a container's environment.
public struct AssetLinks: Sendable {
    private let prefix: String
    private let tickets: AssetTickets
    private let withdrawn: WithdrawnAddresses
    private let expires: Timestamp

    /// - Parameters:
    ///   - origin: scheme, host and port; empty for links within the server's own pages.
    ///   - now: the start of the validity period of downloads.
    init(
        origin: String, container: ContainerID, environment: Records.Environment, tickets: AssetTickets,
        withdrawn: WithdrawnAddresses, now: Timestamp
    ) {
        prefix = "\(origin)\(AssetPath.root)\(container)/\(environment.rawValue)/"
        self.tickets = tickets
        self.withdrawn = withdrawn
        expires = AssetTickets.downloadExpiry(now)
    }

    public func uploadURL(_ grant: UploadGrant) -> String {
        "\(prefix)upload/\(grant.ticket)"
    }

    /// The download address of an asset. It is valid for at least an hour, without further credentials.
    /// - Parameter field: the name of the field, which is the file name if the asset has none.
    public func downloadURL(of asset: Asset, in field: Name) -> String {
        let name = AssetFileName.safe(asset.fileName ?? field.string)
        // The address for an asset without a valid checksum returns an error.
        guard let checksum = FileChecksum(asset.fileChecksum) else {
            return "\(prefix)download/unknown/\(PercentEncoding.encoded(name))"
        }
        let ticket = tickets.seal(
            withdrawn.replacement(for: DownloadTicket(checksum: checksum, size: asset.size, expires: expires)),
            name: name)
        return "\(prefix)download/\(ticket)/\(PercentEncoding.encoded(name))"
    }
}

// MARK: - Paths

/// A path below `/assets`: `/assets/{container}/{environment}/upload/{ticket}` or
/// `/assets/{container}/{environment}/download/{ticket}/{name}`.
public struct AssetPath: Sendable, Hashable {
    public enum Purpose: Sendable, Hashable {
        case upload(ticket: String)
        /// The ticket, and the name of the downloaded file.
        case download(ticket: String, fileName: String)
    }

    public static let root = "/assets/"

    public let container: ContainerID
    public let environment: Environment
    public let purpose: Purpose

    /// - Returns: `nil` if the path is not a valid asset path.
    public init?(_ path: String) {
        guard path.hasPrefix(Self.root) else { return nil }
        // Bytes, because it takes long to find where characters end.
        let parts = path.utf8.dropFirst(Self.root.utf8.count)
            .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map { String(Substring($0)) }
        guard parts.count >= 4, let container = ContainerID(parts[0]), let environment = Environment(rawValue: parts[1])
        else { return nil }
        self.container = container
        self.environment = environment
        switch (parts[2], parts.count) {
        case ("upload", 4): purpose = .upload(ticket: parts[3])
        case ("download", 5):
            guard let name = PercentEncoding.decoded(parts[4]) else { return nil }
            purpose = .download(ticket: parts[3], fileName: name)
        default: return nil
        }
    }
}

// MARK: - Withdrawn addresses

/// Download addresses that were withdrawn before they expired.
///
/// Kept in memory only: after a restart they are valid again until they expire.
final class WithdrawnAddresses: Sendable {
    /// Maximum number of addresses. Beyond it, some are valid again.
    private static let limit = 10_000

    private let tickets = Mutex<Set<DownloadTicket>>([])

    func add(_ ticket: DownloadTicket, at now: Timestamp) {
        tickets.withLock { tickets in
            if tickets.count >= Self.limit { tickets = tickets.filter { $0.expires > now } }
            if tickets.count >= Self.limit { tickets.removeFirst() }
            tickets.insert(ticket)
        }
    }

    func contains(_ ticket: DownloadTicket) -> Bool {
        tickets.withLock { $0.contains(ticket) }
    }

    /// The same ticket; if its address was withdrawn, one that expires some milliseconds later and therefore has
    /// another address.
    func replacement(for ticket: DownloadTicket) -> DownloadTicket {
        tickets.withLock { tickets in
            var ticket = ticket
            while tickets.contains(ticket) { ticket.expires.milliseconds += 1 }
            return ticket
        }
    }
}

// MARK: - Errors

/// An upload or a download started after its ticket expired. The HTTP status is 410.
public struct AssetTicketExpired: Error, Sendable, Hashable, CustomStringConvertible {
    /// The error for the client, with a remedy.
    public let error: RecordError

    public var description: String { error.description }

    static let upload = AssetTicketExpired(
        error: RecordError(
            .badRequest, "The upload URL has expired: it is valid for 15 minutes. Get a new one with assets/upload"))
    static let download = AssetTicketExpired(
        error: RecordError(.badRequest, "The download URL has expired. Fetch the record again to get a new one"))
}
