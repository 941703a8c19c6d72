package import HTTPServing
internal import RecordStore
package import Records

extension RequestMemory {
    /// Makes sure that there is room for an answer with some records, as soon as they are read.
    package static func prepareAnswer(with records: some Sequence<StoredRecord>) throws(Shortage) {
        // The records, and the text that is made of them.
        try current?.prepareAnswer(of: 2 * records.reduce(0) { $0 + $1.fields.bytes.count })
    }
}
