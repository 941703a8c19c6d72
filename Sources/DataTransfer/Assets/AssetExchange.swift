/// What an export or an import needs to take the bytes of assets along.
public struct AssetExchange: Sendable {
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
