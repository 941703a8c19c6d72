public import NIOCore
public import Records

/// A file that is open for reading. While this object exists, no sweep removes the file. The file is closed on deallocation.
public final class AssetFile: Sendable {
    /// The forms of a stored file.
    public enum Coding: Sendable, Hashable {
        case identity
        /// Compressed in gzip format.
        case gzip
    }

    public let checksum: FileChecksum
    /// The form of this file: identity if no compressed form is available.
    public let coding: Coding
    /// The size of this form, in bytes.
    public let size: Int64
    /// The size of the uncompressed file, in bytes.
    public let identitySize: Int64
    /// The time when it was stored, in seconds since 1970.
    public let modified: Int64
    /// The file type, detected from the content.
    public let type: AssetType
    /// The handle for reading. Do not close it, and do not use it after this object is deallocated.
    public let handle: NIOFileHandle

    private let file: DiskFile
    private let hold: FileHold

    init(_ file: DiskFile, held hold: FileHold, coding: Coding, size: Int64, identitySize: Int64, modified: Int64, type: AssetType) {
        checksum = hold.checksum
        self.coding = coding
        self.size = size
        self.identitySize = identitySize
        self.modified = modified
        self.type = type
        self.file = file
        self.hold = hold
        handle = NIOFileHandle(_deprecatedTakingOwnershipOfDescriptor: file.descriptor)
    }

    deinit {
        // The `DiskFile` owns the descriptor and closes it.
        // An error means that the handle no longer owns the descriptor.
        _ = try? handle.takeDescriptorOwnership()
    }
}
