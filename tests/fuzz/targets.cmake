# X here is X_fuzz.cpp, its corpus is corpus/X, its dictionary X.dict where there is one.
set(FUZZ_TARGETS policy_json units mounts flags audit_line audit_chain terminal domain_rules
    dns_message client_hello socks5 http_head placeholder sigv4 token_mask extract jsonrpc srt_settings
    http_request session_frames)
