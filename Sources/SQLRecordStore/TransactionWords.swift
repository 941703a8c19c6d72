internal import JSON
internal import RecordStore
internal import Records

/// Provides the words of texts to a transaction, from the prepared words or by tokenizing the text itself while other
/// saves wait.
///
/// It counts the text tokenized here, and postpones a request that needs long texts tokenized. So short texts need no
/// extra read before the save.
final class TransactionWords {
    /// Thrown to run the request again with prepared words for the texts it replaces or deletes.
    struct PutOff: Error {}

    /// Bytes of tokenized text, about 30 ms of work, after which no work that can be postponed is started.
    private static let much = 65_536

    private let prepared: PreparedWords
    private let request: ModifyRequest?
    /// Bytes of text tokenized here.
    private(set) var bytesCut = 0

    /// - Parameter request: the request to postpone if records that it names have long texts; `nil` to tokenize all
    ///   texts here.
    init(_ prepared: PreparedWords = .none, puttingOff request: ModifyRequest? = nil) {
        self.prepared = prepared
        self.request = request
    }

    var isMuchCut: Bool { bytesCut >= Self.much }

    /// The words of a record's text, in index order.
    /// - Throws: ``PutOff`` to postpone the request.
    func words(of text: String, in record: Name) throws -> [Name] {
        if let words = prepared[text] { return words }
        bytesCut += text.utf8.count
        if bytesCut >= PreparedWords.shortest, let request, request.operations.contains(where: { $0.recordName == record }) { throw PutOff() }
        return PreparedWords.cut(text)
    }
}
