/// What an export or an import needs to take the bytes of assets along.
public struct AssetExchange: Sendable {
    /// Bytes that an asset may say it has: 128 TB, more than any file.
    static let sizeLimit: Int64 = 1 << 47

    public let folder: AssetFileFolder
    let transport: any AssetTransport

    /// - Parameters:
    ///   - folder: where the bytes lie beside the export.
    ///   - transport: the way to the container's own.
    public init(folder: AssetFileFolder, transport: any AssetTransport) {
        self.folder = folder
        self.transport = transport
    }
}
