/// The folder and the transport that an export or an import uses for the bytes of assets.
public struct AssetExchange: Sendable {
    /// The maximum size of an asset in bytes: 128 TB, more than any real file.
    static let sizeLimit: Int64 = 1 << 47

    public let folder: AssetFileFolder
    let transport: any AssetTransport

    /// - Parameters:
    ///   - folder: the folder beside the export.
    ///   - transport: reads and writes the assets of the container.
    public init(folder: AssetFileFolder, transport: any AssetTransport) {
        self.folder = folder
        self.transport = transport
    }
}
