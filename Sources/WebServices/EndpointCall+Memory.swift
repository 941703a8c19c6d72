internal import HTTPServing
internal import RecordStore
internal import Records

extension EndpointCall {
    /// Reserves memory for an answer with these records. Services without side effects call it right after
    /// they read the records. If there is no memory, the answer is dropped and the service is called again.
    /// - Throws: `RequestMemory.Shortage` if there is not enough memory now.
    func makeRoom(for records: some Sequence<StoredRecord>) throws {
        try makeRoom(for: records.reduce(0) { $0 + $1.fields.bytes.count })
    }

    /// - Parameter bytes: the size of the fields that were read.
    func makeRoom(for bytes: Int) throws {
        // Twice the size: for the records and for the text made from them.
        try RequestMemory.current?.prepareAnswer(of: 2 * bytes)
    }
}
