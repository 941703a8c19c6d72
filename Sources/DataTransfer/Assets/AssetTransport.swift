public import NIOCore
public import Records
public import RecordStore

/// A transport for the bytes of assets to and from a container's environment, local or remote.
public protocol AssetTransport: Sendable {
    /// Uploads a file.
    /// - Parameters:
    ///   - grant: an upload grant from a database of the same container and environment.
    ///   - fileName: the display name of the file, also for downloads.
    /// - Returns: the asset to save in the record, including its receipt.
    /// - Throws: `RecordError` QUOTA_EXCEEDED if the file exceeds the size limit; errors of reading the file.
    func upload(_ file: FileBytes, with grant: UploadGrant, fileName: String?) async throws -> Asset

    /// Downloads the bytes of an asset.
    /// - Parameter take: receives the bytes in order. The next part is read only after it returns.
    /// - Throws: `RecordError` if the download fails; errors of `take`.
    func download(_ checksum: FileChecksum, size: Int64, _ take: (ByteBuffer) async throws -> Void) async throws
}

/// The folder and the transport that an export or an import uses for the bytes of assets.
public struct AssetExchange: Sendable {
    /// The maximum size of an asset in bytes: 128 TB, more than any real file.
    public static let sizeLimit: Int64 = 1 << 47

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
