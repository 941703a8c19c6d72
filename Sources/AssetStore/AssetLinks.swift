public import JSON
public import RecordStore
public import Records
internal import Text

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
        origin: String, container: ContainerID, environment: Records.Environment, tickets: AssetTickets, withdrawn: WithdrawnAddresses, now: Timestamp
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
        // For an asset without a valid checksum, the address answers with an error.
        guard let checksum = FileChecksum(asset.fileChecksum) else { return "\(prefix)download/unknown/\(PercentEncoding.encoded(name))" }
        let ticket = tickets.seal(withdrawn.replacement(for: DownloadTicket(checksum: checksum, size: asset.size, expires: expires)), name: name)
        return "\(prefix)download/\(ticket)/\(PercentEncoding.encoded(name))"
    }
}
