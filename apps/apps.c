#include "core/core.h"
static void cs(void){core_set_idle(0);}
static void cp(bool r){core_log("ports running %d, %u ports", r, core_port_count()); core_log("ready: %u ports", core_port_count());}
static void cl(unsigned p, const struct nic_link*l){core_log("eth%u link %d",p,l->up);}
static void cm(const struct core_msg*m){core_log("punt port %u len %u",m->port,m->len);}
static void ck(uint8_t c){core_log("key %c",c); if(c=='q')core_exit(0); if(c=='f'){volatile uintptr_t z=8;*(volatile int*)z=1;} if(c=='u')__asm__("ud2"); if (c=='x')core_exit(3); if(c=='r')core_reboot(); if(c=='s'){struct nic_counters n; core_port_counters(0,&n); core_log("rx %lu tx %lu mr %lu mw %lu sleeps %lu",n.rx_pkts,n.tx_pkts,n.mmio_reads,n.mmio_writes,core_stats_of(0)->sleeps);}}
static uint64_t ct(void){return UINT64_MAX;}
static void ds(void){}
static void rx(struct pkt*v,unsigned n,unsigned port){for(unsigned i=0;i<n;i++){v[i].port=port; if(i==0)core_punt(&v[i],0,0); else core_tx((port+1)%core_port_count(),&v[i]);}}
static void di(struct pkt*p,uint32_t k,uint32_t a){(void)k;(void)a;core_tx(p->port,p);}
static const struct app a={"stub",cs,cp,cl,cm,ck,ct,ds,rx,di};
const struct app*const core_apps[]={&a}; const unsigned core_app_count=1;
