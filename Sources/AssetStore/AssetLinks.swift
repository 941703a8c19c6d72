public import JSON
public import RecordStore
public import Records

/// Where the assets of a container's environment are uploaded to and downloaded from.
public struct AssetLinks: Sendable {
    private let prefix: String
    private let tickets: AssetTickets
    private let expires: Timestamp

    /// - Parameters:
    ///   - origin: scheme, host and port; empty for links within the server's own pages.
    ///   - now: from when on downloads are to be good.
    public init(origin: String, container: ContainerID, environment: Records.Environment, tickets: AssetTickets, now: Timestamp) {
        prefix = "\(origin)\(AssetPath.root)\(container)/\(environment.rawValue)/"
        self.tickets = tickets
        expires = AssetTickets.downloadExpiry(now)
    }

    public func uploadURL(_ grant: UploadGrant) -> String {
        "\(prefix)upload/\(grant.ticket)"
    }

    /// Where an asset can be fetched for an hour at least, by whoever knows the address.
    /// - Parameter field: what the file is called when it has no name of its own.
    public func downloadURL(of asset: Asset, in field: Name) -> String {
        let name = AssetFileName.safe(asset.fileName ?? field.string)
        // What has no checksum of ours leads to an answer that says so.
        guard let checksum = FileChecksum(asset.fileChecksum) else { return "\(prefix)download/unknown/\(AssetPath.encoded(name))" }
        let ticket = tickets.seal(DownloadTicket(checksum: checksum, size: asset.size, expires: expires), name: name)
        return "\(prefix)download/\(ticket)/\(AssetPath.encoded(name))"
    }
}
