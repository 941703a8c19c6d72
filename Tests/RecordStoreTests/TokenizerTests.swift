import RecordStore
import Testing

@Suite struct TokenizerTests {
    @Test(arguments: [
        ("Hello, hello world!", ["hello", "world"]),
        ("Äpfel ÄPFEL apfel", ["apfel"]),
        ("don't 3.14", ["don", "t", "3", "14"]),
        ("名前はAda", ["名", "前", "は", "ada"]),
        ("", []),
        ("🙃 —", []),
    ])
    func cutsWords(text: String, tokens: [String]) {
        #expect(Tokenizer.tokens(of: text) == tokens)
    }
}
