internal import Console
internal import Workbench

/// Bytes in all their text encodings, ready to copy.
struct TokenForms: ViewModel {
    struct Form: ViewModel {
        let name: String
        let text: String
        /// True if the input had this encoding.
        let isPasted: Bool
    }

    /// The size limit of the encodings, in bytes. Six encodings of a longer value would fill the page.
    static let limit = 4_096

    let title: String
    let forms: [Form]
    /// A message in place of the encodings.
    let tooLong: String?
    let dump: ByteDump

    /// - Parameter pasted: the encodings of the input, the outermost first.
    init(_ title: String, bytes: [UInt8], pasted: [TextForm] = [], isOpen: Bool) {
        self.title = title
        let isLong = bytes.count > Self.limit
        tooLong = isLong ? "\(Digits.bytes(Int64(bytes.count))) are too many to show in every form." : nil
        // If the input is encoded twice, only the outer encoding matches it.
        let whole = pasted.count > 2 ? nil : pasted.first
        forms = isLong ? [] : TextForm.allCases.map { Form(name: $0.title, text: $0.text(of: bytes), isPasted: $0 == whole) }
        dump = ByteDump(bytes, isOpen: isOpen)
    }
}

/// The bytes themselves.
struct ByteDump: ViewModel {
    let text: String
    let more: String?
    let count: String
    let isOpen: Bool

    init(_ bytes: [UInt8], isOpen: Bool) {
        let dump = HexDump(bytes)
        text = dump.lines.map { line in
            "\(line.offset)  \(line.digits)\(String(repeating: " ", count: max(0, 48 - line.digits.utf8.count)))  \(line.characters)"
        }.joined(separator: "\n")
        more = dump.leftOut == 0 ? nil : "\(Digits.bytes(Int64(dump.leftOut))) more"
        count = Digits.bytes(Int64(bytes.count))
        self.isOpen = isOpen
    }
}
