public import CloudKitClient
internal import JSON
public import Records

/// The content of a record's field: a value, or files. `FieldValue` of Records has no file that is still to be uploaded, and no address.
public enum FieldContent: Sendable, Hashable {
    /// A value that is no asset.
    case value(FieldValue, isEncrypted: Bool)
    /// A file that is here, on the server, or both.
    case file(AssetFile)
    /// A list of files.
    case files([AssetFile])

    /// - Returns: `nil` for a value or a type that this library does not know.
    public init?(_ received: ReceivedField) {
        guard let value = received.value else { return nil }
        let files = received.assets.map { AssetFile($0) }
        switch value {
        case .asset:
            guard let file = files.first else { return nil }
            self = .file(file)
        case .list(_, .asset?): self = .files(files)
        default: self = .value(value, isEncrypted: received.isEncrypted)
        }
    }

    /// The value; `nil` for files that were not uploaded.
    public var value: FieldValue? {
        switch self {
        case .value(let value, _): value
        case .file(let file): file.asset.map { .asset($0) }
        case .files(let files):
            files.allSatisfy { $0.asset != nil } ? .list(files.compactMap { $0.asset.map { .asset($0) } }, of: .asset) : nil
        }
    }

    /// True if the server encrypts the value.
    public var isEncrypted: Bool {
        if case .value(_, let isEncrypted) = self { isEncrypted } else { false }
    }

    /// The files of the field: one, those of a list, or none.
    public var files: [AssetFile] {
        switch self {
        case .value: []
        case .file(let file): [file]
        case .files(let files): files
        }
    }

    var encrypted: FieldContent {
        if case .value(let value, _) = self { .value(value, isEncrypted: true) } else { self }
    }

    /// The same with other files, in their order.
    func replacing(_ files: [AssetFile]) -> FieldContent {
        switch self {
        case .value: self
        case .file: files.first.map { .file($0) } ?? self
        case .files: .files(files)
        }
    }
}
