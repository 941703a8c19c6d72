internal import HTTPServing
internal import RecordStore
internal import Records

extension EndpointCall {
    /// Makes sure that there is room for an answer with some records, before it is made. To be called as soon as they are read, by services that change
    /// nothing: the service is asked a second time when there was none.
    /// - Throws: `RequestMemory.Shortage`.
    func makeRoom(for records: some Sequence<StoredRecord>) throws {
        try makeRoom(for: records.reduce(0) { $0 + $1.fields.bytes.count })
    }

    /// - Parameter bytes: of the fields that are read.
    func makeRoom(for bytes: Int) throws {
        // The records, and the text that is made of them.
        try RequestMemory.current?.prepareAnswer(of: 2 * bytes)
    }
}
