internal import JSON
internal import RecordStore
internal import Records

/// Where a transaction takes the words of texts from: from those that were found beforehand; else it cuts the text itself, while all saves wait.
///
/// It tells how much that was, and puts a request off that has it cut long texts. So nothing has to be read before a save only to learn that
/// its texts are short.
final class TransactionWords {
    /// Thrown when a request is to come again with the words of the texts that it replaces or deletes.
    struct PutOff: Error {}

    /// Bytes of text after which no more is begun that can wait: they take some 30 ms.
    private static let much = 65_536

    private let prepared: PreparedWords
    private let request: ModifyRequest?
    /// Bytes of text that were cut here.
    private(set) var bytesCut = 0

    /// - Parameter request: one that may be put off, for long texts of the records that it names; `nil` to cut whatever comes up.
    init(_ prepared: PreparedWords = .none, puttingOff request: ModifyRequest? = nil) {
        self.prepared = prepared
        self.request = request
    }

    var isMuchCut: Bool { bytesCut >= Self.much }

    /// The words of a text of a record, in the order of the index.
    /// - Throws: ``PutOff``.
    func words(of text: String, in record: Name) throws -> [Name] {
        if let words = prepared[text] { return words }
        bytesCut += text.utf8.count
        if bytesCut >= PreparedWords.shortest, let request, request.operations.contains(where: { $0.recordName == record }) { throw PutOff() }
        return PreparedWords.cut(text)
    }
}
